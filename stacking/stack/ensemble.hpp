// Several models as one: the mean of their distributions over the next token.
//   p(x) = sum of w_i p_i(x)
// The weights are those of running Bayes over the text that is being read; a new text begins with
// the priors.
// Invariants: weights sum to 1; equal members give one member's distribution, but for rounding.
// Errors: Mismatch (Reject): members with other vocabularies, priors that are no probabilities.
// NotFinite (Reject): a member's logits. Cost: O(members x V) per token beside the members.
#pragma once

#include "stacking/stack/running_bayes.hpp"
#include "stacking/stack/text_reader.hpp"

namespace stacking::stack {

/// Members of one stack.
inline constexpr std::size_t kMembersMax = 16;

class Ensemble final : public TextReader {
 public:
    using Members = std::vector<std::unique_ptr<TextReader>>;

    /// `priors`: one per member, positive; their sum need not be 1.
    static swarm::Result<std::unique_ptr<Ensemble>> make(
        Members members, std::vector<double> priors
    );

    [[nodiscard]] std::uint32_t vocabulary() const override;
    [[nodiscard]] std::uint32_t context() const override;
    [[nodiscard]] swarm::Result<> begin(std::uint32_t tokens) override;
    /// Log-probabilities.
    [[nodiscard]] swarm::Result<std::vector<float>> read(
        std::span<const TokenId> tokens, Wanted wanted
    ) override;

    /// As the text stands now.
    [[nodiscard]] std::vector<double> weights() const;

 private:
    Ensemble(Members members, std::span<const double> priors);

    void observe(TokenId token);
    void mix(std::vector<float>& out) const;

    Members members_;
    RunningBayes weights_;
    /// Of the token to come, by member: (V) log-probabilities; empty before the first token.
    std::vector<std::vector<float>> expected_;
};

}  // namespace stacking::stack

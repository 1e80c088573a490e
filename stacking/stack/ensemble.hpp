// Several models as one: the mean of their distributions over the next token.
//   p(x) = sum of w_i p_i(x),   w_i ~ prior_i x p_i(text so far)
// The weights are running Bayes over the text that is being read, so the member that has predicted
// it best counts most; a new text begins with the priors. In nats a text costs at most
// -log(prior) more than by its best member.
// Invariants: weights sum to 1; equal members give one member's distribution, but for rounding.
// Errors: Mismatch (Reject): members with other vocabularies, priors that are no probabilities.
// NotFinite (Reject): a member's logits. Cost: O(members x V) per token beside the members.
// Source: Branch-Train-Merge (Li et al. 2022, section 4), with the exact posterior of the text in
// place of an averaged one.
#pragma once

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
    Ensemble(Members members, std::vector<double> priors);

    void observe(TokenId token);
    void mix(std::vector<float>& out) const;

    Members members_;
    std::vector<double> log_priors_;
    std::vector<double> log_weights_;
    /// Of the token to come, by member: (V) log-probabilities; empty before the first token.
    std::vector<std::vector<float>> expected_;
};

}  // namespace stacking::stack

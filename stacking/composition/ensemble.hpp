// Several models as one: the mean of their distributions over the next token.
//   p(x) = sum of w_i p_i(x)
// The weights come from running Bayes over the text that is being read; a new text begins with the
// priors.
// Invariants: the weights sum to 1; equal members give one member's distribution, but for rounding.
// Threading: one thread. Shapes: (R, V) fp32 log-probabilities. Errors: Mismatch (Reject): members
// with different vocabularies, or priors that are no positive numbers; NotFinite (Reject): a
// member's logits. Cost: O(members x V) per token besides the members.
#pragma once

#include "stacking/composition/running_bayes.hpp"
#include "stacking/composition/text_reader.hpp"

namespace stacking::composition {

/// Maximum members of one stack.
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
    /// Returns log-probabilities.
    [[nodiscard]] swarm::Result<std::vector<float>> read(
        std::span<const TokenId> tokens, Wanted wanted
    ) override;

    /// Weights of the members after the tokens read so far; their sum is 1.
    [[nodiscard]] std::vector<double> weights() const;

 private:
    Ensemble(Members members, std::span<const double> priors);

    void observe(TokenId token);
    void mix(std::vector<float>& out) const;

    Members members_;
    RunningBayes weights_;
    /// Log-probabilities (V) of the next token, by member; empty before the first token.
    std::vector<std::vector<float>> expected_;
};

}  // namespace stacking::composition

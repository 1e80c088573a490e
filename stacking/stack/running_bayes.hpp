// How much each member of a stack counts: its prior times the probability that it gave to the text
// so far, in proportion.
//   w_i ~ prior_i x p_i(text)
// Who has predicted the text best counts most. In nats a text costs at most -log(prior) more than
// by its best member.
// Invariant: the weights of the members that are left sum to 1; at least one is left.
// Threading: one thread. Cost: O(members).
// Source: Branch-Train-Merge (Li et al. 2022, section 4), with the exact posterior of the text in
// place of an averaged one.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace stacking::stack {

class RunningBayes {
 public:
    /// One per member, positive; their sum need not be 1.
    explicit RunningBayes(std::span<const double> priors);

    /// A new text begins: all members, as the priors say.
    void restart();

    /// What each of them gave to the next piece of the text, as a natural logarithm. Those of
    /// members that were dropped mean nothing.
    void observe(std::span<const double> log_probabilities);

    /// It counts no more. Never the last one.
    void drop(std::size_t member);

    /// Natural logarithms; minus infinity: dropped.
    [[nodiscard]] const std::vector<double>& log_weights() const { return log_weights_; }

    [[nodiscard]] bool has(std::size_t member) const;

 private:
    void normalise();

    std::vector<double> log_priors_;
    std::vector<double> log_weights_;
};

/// Natural logarithm of the sum of their exponentials; one of them at least is finite.
double log_sum(std::span<const double> logarithms);

}  // namespace stacking::stack

// The weight of each member of a stack: its prior times the probability that it gave to the text so
// far, scaled so that all weights sum to 1.
//   w_i ~ prior_i x p_i(text)
// The member that has predicted the text best has the largest weight. A text costs at most
// -log(prior) nats more than it costs its best member alone.
// Invariant: the weights of the members that are left sum to 1; at least one member is left.
// Threading: one thread. Errors: none. Units: natural logarithms. Cost: O(members) per call.
// Source: Branch-Train-Merge (Li et al. 2022, section 4). Deviation: the exact posterior of the
// text replaces an averaged one.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace stacking::composition {

class RunningBayes {
 public:
    /// `priors`: one per member, positive; their sum need not be 1.
    explicit RunningBayes(std::span<const double> priors);

    /// Begins a new text: all members count again, with their priors.
    void restart();

    /// `log_probabilities`: the natural logarithm of the probability that each member gave to the
    /// next piece of the text. Entries of dropped members are ignored.
    void observe(std::span<const double> log_probabilities);

    /// Leaves the member out of this text. REQUIRES: another member is left.
    void drop(std::size_t member);

    /// Natural logarithms of the weights; minus infinity for a dropped member.
    [[nodiscard]] const std::vector<double>& log_weights() const { return log_weights_; }

    [[nodiscard]] bool has(std::size_t member) const;

 private:
    void normalise();

    std::vector<double> log_priors_;
    std::vector<double> log_weights_;
};

/// Natural logarithm of the sum of the exponentials. REQUIRES: at least one value is finite.
double log_sum(std::span<const double> logarithms);

}  // namespace stacking::composition

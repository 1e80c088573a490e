// Says when the loss of a run diverges: the mean of the last kSteps losses is above the least mean
// of any kSteps consecutive ones by more than a tenth of it, and by more than 0.1.
// Invariant: one rise is told once. It is over when half of that rise is made up for.
// A run that goes back to a checkpoint begins anew here. Losses of looped steps are those of other
// positions, so they are passed over, unless all steps are looped.
// Threading: pure. Units: nats per token. Memory: kSteps losses. Cost: O(1) per step. Source: own.
#pragma once

#include "swarm/run/training/loop.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace swarm::run {

class LossWatch {
 public:
    static constexpr std::size_t kSteps = 20;
    static constexpr double kFactor = 0.1;
    static constexpr double kLeast = 0.1;

    struct Rise {
        double mean = 0;   // mean of the last kSteps losses
        double least = 0;  // least mean so far

        /// "the mean loss of the last 20 steps is 3.9120, the least was 3.2140".
        [[nodiscard]] std::string text() const;
    };

    explicit LossWatch(const LoopConfig& loop = {}) : loop_(loop) {}

    /// `loss` is that of a step that was committed; a loss that is not finite is passed over.
    /// Returns a rise that was not told before.
    std::optional<Rise> add(std::uint64_t step, double loss);

    /// Takes the loss of a step that an earlier process has committed. Steps that are known are
    /// passed over: a coordinator that starts again tells them once more.
    void recall(std::uint64_t step, double loss);

 private:
    /// Returns the rise that the loss makes, told or not.
    std::optional<Rise> take(std::uint64_t step, double loss);

    LoopConfig loop_;
    std::deque<double> latest_;  // at most kSteps
    std::optional<std::uint64_t> newest_step_;
    std::optional<double> least_;
    bool told_ = false;
};

}  // namespace swarm::run

#include "swarm/run/training/loss_watch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace swarm::run {
namespace {

/// Returns how far a mean may lie above the least one. Losses of the oracle may be negative.
double allowed_rise(double least) {
    return std::max(LossWatch::kLeast, LossWatch::kFactor * std::abs(least));
}

}  // namespace

std::string LossWatch::Rise::text() const {
    char line[128];
    std::snprintf(
        line,
        sizeof line,
        "the mean loss of the last %zu steps is %.4f, the least was %.4f",
        kSteps,
        mean,
        least
    );
    return line;
}

std::optional<LossWatch::Rise> LossWatch::add(std::uint64_t step, double loss) {
    if (newest_step_ && step <= *newest_step_) {
        *this = LossWatch(loop_);
    }
    const std::optional<Rise> rise = take(step, loss);
    if (!rise || !told_) {
        told_ = rise && rise->mean - rise->least > allowed_rise(rise->least);
        return told_ ? rise : std::nullopt;
    }
    told_ = rise->mean - rise->least > allowed_rise(rise->least) / 2;
    return std::nullopt;
}

void LossWatch::recall(std::uint64_t step, double loss) {
    if (!newest_step_ || step > *newest_step_) {
        static_cast<void>(take(step, loss));
    }
}

std::optional<LossWatch::Rise> LossWatch::take(std::uint64_t step, double loss) {
    newest_step_ = step;
    const bool is_other = is_looped(loop_, step) && loop_.every > 1;
    if (std::isfinite(loss) && !is_other) {
        latest_.push_back(loss);
    }
    if (latest_.size() > kSteps) {
        latest_.pop_front();
    }
    if (latest_.size() < kSteps) {
        return std::nullopt;
    }
    const double mean = std::accumulate(latest_.begin(), latest_.end(), 0.0) / kSteps;
    least_ = std::min(least_.value_or(mean), mean);
    return Rise{mean, *least_};
}

}  // namespace swarm::run

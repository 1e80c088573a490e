#include "swarm/run/training/learning_rate.hpp"

#include "swarm/run/training/batch_growth.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace swarm::run {
namespace {

/// The last fall of wsd is this part of the run where the run file says nothing.
constexpr std::uint64_t kDecayPart = 10;

/// 0 at the step `from`, 1 at the step `last` and beyond.
double progress_between(std::uint64_t from, std::uint64_t last, std::uint64_t step) {
    return step >= last ? 1.0 : static_cast<double>(step - from) / static_cast<double>(last - from);
}

double on_a_cosine(const OptimizerConfig& optimizer, double progress) {
    const double cosine = 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
    return optimizer.final_learning_rate +
           (optimizer.learning_rate - optimizer.final_learning_rate) * cosine;
}

/// Exact at both ends.
double on_a_line(const OptimizerConfig& optimizer, double progress) {
    return optimizer.learning_rate * (1.0 - progress) + optimizer.final_learning_rate * progress;
}

/// The last step with the full rate of wsd. A fall that is longer than the rest of the run begins
/// with the end of the warm-up.
std::uint64_t rests_until(const RunConfig& config, std::uint64_t warmup) {
    const std::uint64_t last = config.steps - 1;
    const std::uint64_t said = config.optimizer.decay_steps;
    const std::uint64_t decay =
        said > 0 ? said : std::max<std::uint64_t>(1, config.steps / kDecayPart);
    return std::max(warmup, last - std::min(decay, last));
}

}  // namespace

std::uint64_t warmup_length(const RunConfig& config) {
    const std::uint64_t tokens = config.optimizer.warmup_tokens;
    if (tokens == 0) {
        return config.optimizer.warmup_steps;
    }
    return steps_with_tokens(config, tokens);
}

double learning_rate_at(const RunConfig& config, std::uint64_t step) {
    const OptimizerConfig& optimizer = config.optimizer;
    const std::uint64_t warmup = warmup_length(config);
    if (step < warmup) {
        return optimizer.learning_rate * static_cast<double>(step + 1) /
               static_cast<double>(warmup);
    }
    const std::uint64_t last = config.steps - 1;
    switch (optimizer.schedule) {
        case Schedule::Cosine:
            return on_a_cosine(optimizer, progress_between(warmup, last, step));
        case Schedule::Linear:
            return on_a_line(optimizer, progress_between(warmup, last, step));
        case Schedule::Wsd: {
            const std::uint64_t rest = rests_until(config, warmup);
            return step <= rest && step < last
                       ? optimizer.learning_rate
                       : on_a_line(optimizer, progress_between(rest, last, step));
        }
        case Schedule::Constant:
            break;
    }
    return optimizer.learning_rate;
}

}  // namespace swarm::run

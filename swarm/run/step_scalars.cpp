#include "swarm/run/step_scalars.hpp"

#include "swarm/base/check.hpp"
#include "swarm/run/training/batch_growth.hpp"
#include "swarm/run/training/learning_rate.hpp"

#include <cmath>

namespace swarm::run {

namespace {

double bias_correction(double beta, std::uint64_t step) {
    return 1.0 - std::pow(beta, static_cast<double>(step + 1));
}

/// The mean gradient of a step is so much longer than the sum of loss / microbatches; 1 where the
/// step has all of them.
double longer_mean(const RunConfig& config, std::uint64_t step) {
    return static_cast<double>(config.microbatches) / microbatches_of(config, step);
}

}  // namespace

double gradient_norm(std::span<const double> sums_of_squares) {
    double total = 0;
    for (const double sum : sums_of_squares) {
        total += sum;
    }
    return std::sqrt(total);
}

double gradient_norm(
    const RunConfig& config, std::uint64_t step, std::span<const double> sums_of_squares
) {
    return gradient_norm(sums_of_squares) * longer_mean(config, step);
}

// cos and pow differ between C libraries in the last bit. That does no harm, because one machine
// computes them and every peer applies the doubles that COMMIT carries.
protocol::StepScalars step_scalars(
    const RunConfig& config, std::uint64_t step, std::span<const double> sums_of_squares
) {
    const double norm = gradient_norm(config, step, sums_of_squares);
    const double clip_norm = config.optimizer.clip_norm;
    return {
        .clip_factor =
            (norm > clip_norm ? clip_norm / norm : 1.0) * longer_mean(config, step),
        .learning_rate = learning_rate_at(config, step),
        .bias_correction1 = bias_correction(config.optimizer.beta1, step),
        .bias_correction2 = bias_correction(config.optimizer.beta2, step)};
}

void add_local_squares(
    const RunConfig& config,
    std::span<const double> own,
    std::uint32_t held,
    std::span<double> sums_of_squares
) {
    SWARM_ASSERT(held > 0 && own.size() == sums_of_squares.size());
    const double longer = static_cast<double>(config.microbatches) / held;
    for (std::size_t i = 0; i < own.size(); ++i) {
        sums_of_squares[i] += own[i] * longer;
    }
}

protocol::StepScalars local_scalars(
    const RunConfig& config, const protocol::StepScalars& scalars, std::uint32_t held
) {
    SWARM_ASSERT(held > 0);
    protocol::StepScalars own = scalars;
    own.clip_factor = scalars.clip_factor * (static_cast<double>(config.microbatches) / held);
    return own;
}

}  // namespace swarm::run

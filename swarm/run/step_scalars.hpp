// The scalars of a commit: learning rate, bias corrections and the clip factor. The coordinator, or
// --single, decides them once, and COMMIT carries them.
// Threading: pure.
#pragma once

#include "swarm/protocol/message.hpp"
#include "swarm/run/config.hpp"

#include <cstdint>
#include <span>

namespace swarm::run {

/// `sums_of_squares` has one entry per tensor, in global order over the whole model. They are added
/// in that order, so the clip does not depend on the split. `step` counts from 0.
protocol::StepScalars step_scalars(
    const RunConfig& config, std::uint64_t step, std::span<const double> sums_of_squares
);

double gradient_norm(std::span<const double> sums_of_squares);
/// The norm of the mean gradient of a step that may have fewer microbatches than the others.
double gradient_norm(
    const RunConfig& config, std::uint64_t step, std::span<const double> sums_of_squares
);

// A replica of mode sparse steps by the mean gradient over its own microbatches, of which there are
// `held` >= 1. All replicas have one clip factor. It follows from the mean of the squared norms of
// the replicas' gradients, in which each replica counts by its microbatches. With one replica it is
// the clip factor of mode exact.

/// Adds the part of one replica to that mean. A gradient counts 1 / microbatches of the step, so
/// the mean over `held` gradients is longer by microbatches / held.
void add_local_squares(
    const RunConfig& config,
    std::span<const double> own,
    std::uint32_t held,
    std::span<double> sums_of_squares
);

/// The common scalars, adapted to the sums of a replica with `held` microbatches.
protocol::StepScalars local_scalars(
    const RunConfig& config, const protocol::StepScalars& scalars, std::uint32_t held
);

}  // namespace swarm::run

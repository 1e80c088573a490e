// The scalars of a commit: learning rate, bias corrections and the clip factor, decided once by
// the coordinator (or by --single) and carried in COMMIT.
#pragma once

#include "swarm/protocol/message.hpp"
#include "swarm/run/config.hpp"

#include <cstdint>
#include <span>

namespace swarm::run {

/// `sums_of_squares`: one per tensor, in global order over the whole model; added in that order,
/// so the clip does not depend on the split. `step` counts from 0.
protocol::StepScalars step_scalars(
    const RunConfig& config, std::uint64_t step, std::span<const double> sums_of_squares
);

double gradient_norm(std::span<const double> sums_of_squares);

// A replica of mode sparse steps by the mean gradient over its own microbatches, of which there are
// `held` >= 1. One clip factor holds for all, from the mean over microbatches of the squared norms
// of their replicas' gradients. With one replica it is that of mode exact.

/// Adds what a replica brings to that mean. A gradient counts 1 / microbatches of the step, so the
/// mean over `held` of them is that much longer.
void add_local_squares(
    const RunConfig& config,
    std::span<const double> own,
    std::uint32_t held,
    std::span<double> sums_of_squares
);

/// The scalars of all, for the sums of this replica.
protocol::StepScalars local_scalars(
    const RunConfig& config, const protocol::StepScalars& scalars, std::uint32_t held
);

}  // namespace swarm::run

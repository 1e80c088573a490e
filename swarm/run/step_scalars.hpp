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

}  // namespace swarm::run

// One stage's peer and the trainer that feeds it, as in the SWARM reference code. The trainer calls
// the peer for a forward, gets its output, calls it for the backward, and gets the gradient; it
// keeps a fixed number of microbatches in flight.
// Units: seconds. The un-hidden transfer is time in which the peer's one worker neither computes
// nor takes other work (copies, serialisation); it does not count as busy.
#pragma once

#include "sim/world.hpp"

#include <cstdint>

namespace sim::golden {

struct RemoteStageOptions {
    double compute_s = 1;   // forward and backward of one microbatch
    double unhidden_s = 0;  // transfer per microbatch
    Duration one_way{};     // latency; a microbatch crosses the link four times
    std::uint32_t in_flight = 1;
    std::uint32_t microbatches = 200;
};

/// Returns the part of the time in which the peer computes.
double utilisation(const RemoteStageOptions& options);

}  // namespace sim::golden

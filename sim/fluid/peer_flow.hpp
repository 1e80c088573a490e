// The flow of microbatches that one machine carries as a member of a stage. A forward is
// `work_units`, a backward twice as many; a stage between two others takes in and sends out two
// tensors each, the first and the last stage one each.
// Invariant: device and access line work at the same time, so the slower of the two is the rate.
// Units: seconds per microbatch, microbatches per second. Cost: O(1).
#pragma once

#include "sim/scenario/schedule.hpp"

namespace sim {

struct PeerFlow {
    double compute_s = 0;    // forward and backward together; 0: the machine stands still
    double carry_s = 0;      // its part of a microbatch's way: two lines carry a tensor at once
    double per_s = 0;        // the most that it can take
    double units_per_s = 0;  // per_s as its senders see it
    std::uint64_t up_bytes_per_s = 0;  // the part of its line for tensors; 0: no bound
};

/// `speed`: share of the machine's usual speed; 0 while it is frozen. Unlimited speed counts as a
/// microbatch per ns.
PeerFlow flow_of(
    const FleetPeer& peer, double speed, const Pipeline& pipeline, std::uint32_t stage
);

/// Work units of a forward and its backward in one stage.
double units_per_microbatch(const Pipeline& pipeline);

/// Tensors that a member of the stage takes in, and sends out, per microbatch.
std::uint32_t tensors_each_way(const Pipeline& pipeline, std::uint32_t stage);

}  // namespace sim

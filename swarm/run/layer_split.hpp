// Cuts a row of layers into stages: the longest stage is as short as whole layers allow; of equally
// good splits the one whose shortest stage is longest.
// Invariant: exact, by dynamic programming; each stage has a layer, and fits its memory.
// Errors: Mismatch (Reject) when no split fits: lend more memory, or use more stages.
// Units: time in any, memory in bytes. Threading: a function of its arguments.
// Cost: O(stages x layers^2), a few ms at most. Source: PipeDream (arXiv 1806.03377) section 3.1,
// without replication: that is the matter of peer_assignment.hpp.
#pragma once

#include "swarm/base/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::run {

struct LayerCost {
    double time = 0;  // of a microbatch, forward and backward; or its work, of stages with speeds
    std::uint64_t memory_bytes = 0;
};

/// Layers of each stage. The embedding counts with the first layer, the head with the last.
/// 1 <= stages <= layers. `memory_bytes`: of each stage in order; empty: no bound. `speeds`: of
/// each stage in order, work per time; empty: all the same.
Result<std::vector<std::uint32_t>> split_layers(
    const std::vector<LayerCost>& layers,
    std::uint32_t stages,
    const std::vector<std::uint64_t>& memory_bytes = {},
    const std::vector<double>& speeds = {}
);

/// "3, 3": for people.
std::string to_text(const std::vector<std::uint32_t>& layers_per_stage);

}  // namespace swarm::run

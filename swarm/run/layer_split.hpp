// Cuts a row of layers into stages, so that the longest stage is as short as whole layers allow.
// Among equally good splits it takes the one whose shortest stage is longest.
// Invariants: the result is exact, by dynamic programming; each stage has a layer and fits its
// memory.
// Errors: Mismatch (Reject) when no split fits: lend more memory, or use more stages.
// Units: time in any unit, memory in bytes. Threading: pure.
// Cost: O(stages x layers^2), a few ms at most. Source: PipeDream (arXiv 1806.03377) section 3.1,
// without replication, which peer_assignment.hpp does.
#pragma once

#include "swarm/base/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::run {

struct LayerCost {
    double time = 0;  // a microbatch, forward and backward; work instead where speeds are given
    std::uint64_t memory_bytes = 0;
};

/// Layers of each stage. The embedding counts with the first layer, the head with the last.
/// 1 <= stages <= layers. `memory_bytes` is the bound of each stage in order; empty: no bound.
/// `speeds` is the work per time of each stage in order; empty: all stages are equally fast.
Result<std::vector<std::uint32_t>> split_layers(
    const std::vector<LayerCost>& layers,
    std::uint32_t stages,
    const std::vector<std::uint64_t>& memory_bytes = {},
    const std::vector<double>& speeds = {}
);

/// "3, 3".
std::string to_text(const std::vector<std::uint32_t>& layers_per_stage);

}  // namespace swarm::run

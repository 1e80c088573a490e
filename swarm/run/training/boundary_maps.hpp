// Bottlenecks: with model.bottleneck = K a tensor between two stages has K values per token and not
// the C of the layers, both ways. Below boundary S the trained map "boundary.S.down" (K, C) makes
// them, above it "boundary.S.up" (C, K) makes a row of C again.
// Invariant: all maps begin as the first K rows, or columns, of the identity. So at the start the
// same K values of the residual stream pass through every boundary as they are, from the embedding
// to the head, and the others begin anew at 0: an identity path of rank K.
// A row of a model without trained weights has no preferred directions, so the first K values are
// as good as any K. Weight decay leaves the maps alone: it would close the path.
// Threading: pure.
// Source: ResBM (arXiv 2604.11947), SWARM (arXiv 2301.11913) section 4.2; deviations: linear maps,
// whose identity path is trained with them.
#pragma once

#include "swarm/run/partition.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace swarm::run {

/// Values per token of a tensor between stages.
std::uint32_t activation_width(const RunConfig& config);

bool is_boundary_map(std::string_view tensor);

/// The map by which a tensor leaves the stage for the next one; nullopt: it leaves as it is.
std::optional<TensorSpec> map_down(const RunConfig& config, StageIndex stage);
/// The map by which a tensor from the stage before is entered; nullopt: it is taken as it is.
std::optional<TensorSpec> map_up(const RunConfig& config, StageIndex stage);

/// The key at fault and the end of a sentence about it.
std::optional<std::pair<std::string, std::string>> bottleneck_fault(const RunConfig& config);

}  // namespace swarm::run

// Bottlenecks: with model.bottleneck = K a tensor between two stages has K values per token and not
// the C of the layers, both ways. Below boundary S the trained map "boundary.S.down" (K, C) makes
// them; above it "boundary.S.up" (C, K) makes a row of C again, to which the token's row of
// "boundary.S.tokens" (V, C) is added: every stage knows the tokens, so no line carries them again.
// Invariant: at the start a boundary passes the embedding of a token whole, and of what the layers
// below have added the first K values: the maps begin as rows, or columns, of the identity, and the
// table as the embedding with zeros in place of its first K values.
// Without trained weights no direction of a row is preferred, so the first K values are as good as
// any K. Weight decay leaves these tensors alone: it would close the path.
// Threading: pure. Source: ResBM (arXiv 2604.11947), SWARM (arXiv 2301.11913) section 4.2; own: a
// table of tokens at each boundary, and an identity path that is trained with the maps.
#pragma once

#include "swarm/run/partition.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace swarm::run {

/// Values per token of the tensor that leaves the stage for the next one.
std::uint32_t activation_width(const RunConfig& config, StageIndex stage);
/// The largest of them.
std::uint32_t widest_activation(const RunConfig& config);

inline constexpr const char* kBoundaryDown = ".down";
inline constexpr const char* kBoundaryTokens = ".tokens";
inline constexpr const char* kBoundaryUp = ".up";

/// The name of a tensor of boundary S, which is above stage S.
std::string boundary_tensor(std::uint32_t boundary, const char* which);

/// Whether the tensor is a map or a table of a boundary.
bool is_boundary_map(std::string_view tensor);
bool is_token_table(std::string_view tensor);

/// The map by which a tensor leaves the stage for the next one; nullopt: it leaves as it is.
std::optional<TensorSpec> map_down(const RunConfig& config, StageIndex stage);
/// The map by which a tensor from the stage before is entered; nullopt: it is taken as it is.
std::optional<TensorSpec> map_up(const RunConfig& config, StageIndex stage);
/// The table whose rows are added behind that map; nullopt: there is no such map.
std::optional<TensorSpec> token_table(const RunConfig& config, StageIndex stage);

/// The key at fault and the end of a sentence about it.
std::optional<std::pair<std::string, std::string>> bottleneck_fault(const RunConfig& config);

}  // namespace swarm::run

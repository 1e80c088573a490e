// The input of the layers behind a bridge, wherever they are computed: the second member's own
// embedding of each token plus the bridge's map of the output of the first member's last layer.
// Invariant: row i of the result depends on row i and token i only, whatever else is in the call.
// Threading: const and any thread. Shapes: (R) tokens and (R, inputs) fp32 to (R, C2).
// Errors: none; the caller has checked tokens and widths. Cost: inputs x C2 per row.
#pragma once

#include "stacking/composition/bridge.hpp"
#include "stacking/session_compute.hpp"
#include "swarm/base/digest.hpp"

#include <functional>
#include <span>
#include <vector>

namespace stacking::composition {

struct BridgedInput {
    std::uint32_t inputs = 0;  // C1
    std::function<std::vector<float>(std::span<const TokenId>, std::vector<float>)> read;
};

/// Writes the second member's embedding of a token, (C2).
using ReadEmbedding = std::function<void(TokenId, std::span<float>)>;

BridgedInput bridged_input(Bridge bridge, ReadEmbedding embed);

/// The digest that names a model behind a bridge among peers and clients; another bridge gives
/// another digest.
swarm::Digest identity_over(const swarm::Digest& model, const Bridge& bridge);

}  // namespace stacking::composition

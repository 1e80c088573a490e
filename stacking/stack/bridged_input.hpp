// What the first layers of a bridge's second member read, wherever they are computed: their own
// embedding of each token, and over the bridge what the first member's last layer said.
// Invariant: row i depends on row i and token i alone, whatever else is in the call.
// Threading: const and any thread. Shapes: (R) tokens and (R, inputs) fp32 to (R, C2).
// Errors: none; who calls has checked tokens and widths. Cost: inputs x C2 per row.
#pragma once

#include "stacking/session_compute.hpp"
#include "stacking/stack/bridge.hpp"
#include "swarm/base/digest.hpp"

#include <functional>
#include <span>
#include <vector>

namespace stacking::stack {

struct BridgedInput {
    std::uint32_t inputs = 0;  // C1
    std::function<std::vector<float>(std::span<const TokenId>, std::vector<float>)> read;
};

/// The second member's embedding of a token, (C2).
using ReadEmbedding = std::function<void(TokenId, std::span<float>)>;

BridgedInput bridged_input(Bridge bridge, ReadEmbedding embed);

/// A model behind a bridge, as peers and clients name it: another bridge is another name.
swarm::Digest identity_over(const swarm::Digest& model, const Bridge& bridge);

}  // namespace stacking::stack

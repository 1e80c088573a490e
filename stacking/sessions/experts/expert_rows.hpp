// Rows to an expert and back as payloads: (rows, C) fp32 without a codec, so no bit changes on the
// way. Threading: pure. Errors: nothing for rows of another size, in a codec, or not finite; for
// these no memory is taken. Cost: O(rows x C).
#pragma once

#include "swarm/node/payload.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stacking::sessions {

/// REQUIRES: whole rows of that width.
std::optional<swarm::node::Payload> to_payload(std::span<const float> rows, std::uint32_t width);

std::optional<std::vector<float>> from_payload(
    const swarm::node::Payload& payload, std::uint32_t rows, std::uint32_t width
);

}  // namespace stacking::sessions

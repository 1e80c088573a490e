// The order in which a token goes through the stages of a model: each once, in another order, or
// some again. The first one of a path embeds the token, the last one applies the head; any other
// takes rows and gives rows, whatever it holds.
// Threading: const and any thread. Errors: one line for people. Cost: O(path).
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace stacking {

/// Empty when the path can be gone. `tied`: the embedding is the head, so the first and the last
/// stage have both.
std::string path_refusal(std::span<const std::uint32_t> path, std::uint32_t stages, bool tied);

}  // namespace stacking

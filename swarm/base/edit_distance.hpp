// The distance between two words, by which an error names what its reader may have meant.
// Threading: pure. Cost: O(|from| x |to|) time, O(|to|) memory.
// Source: Wagner, Fischer, The String-to-String Correction Problem, 1974.
#pragma once

#include <cstddef>
#include <string_view>

namespace swarm {

/// Returns how many letters must be added, left out or replaced to make one word of the other.
std::size_t edit_distance(std::string_view from, std::string_view to);

}  // namespace swarm

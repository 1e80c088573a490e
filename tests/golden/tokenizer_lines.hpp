// Makes the lines of tokenizer_lines.py again: the same text, number by number.
// Threading: pure functions. Errors: none; the digests in tokenizer_lines.json notice a difference.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::golden {

/// The lines without their line ends.
std::vector<std::string> lines_of(std::string_view text);

std::string make_line(std::size_t number, const std::vector<std::string>& prose);

}  // namespace swarm::golden

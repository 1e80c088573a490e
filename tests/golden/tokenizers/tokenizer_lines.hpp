// Makes the lines of tokenizer_lines.py and tokenizer_families.py again: the same text, number by
// number.
// Threading: pure functions. Errors: none; the digests of the text notice a difference.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::golden {

/// The lines without their line ends.
std::vector<std::string> lines_of(std::string_view text);

std::string make_line(std::size_t number, const std::vector<std::string>& prose);

/// Returns a line of the families' test as it is written: every tenth has names of tokens, joined
/// emoji, young characters, and bytes that are no UTF-8.
std::string make_family_line(std::size_t number, const std::vector<std::string>& prose);

}  // namespace swarm::golden

// Functions that methods and filters of texts share.
// Invariant: bytes keep their origin, also where their case changes.
// Threading: pure functions. Cost: one pass each.
#pragma once

#include "stacking/tokenizers/jinja/text.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace stacking::tokenizers::jinja {

enum class Sides { Both, Left, Right };

/// Takes characters of `any` away from the ends of a text; nullopt: white space.
Text strip(const Text& text, Sides sides, const std::optional<Text>& any);

/// Puts `to` where `from` stands, at most `count` times; negative: everywhere.
Text replace(const Text& text, const Text& from, const Text& to, std::int64_t count);

/// Bytes of what replace() returns, or more.
std::uint64_t replaced_bytes(const Text& text, const Text& from, const Text& to);

Text to_upper(const Text& text);
Text to_lower(const Text& text);

/// First character in upper case, the others in lower case.
Text capitalize(const Text& text);

/// Each letter behind something that is no letter in upper case, the others in lower case.
Text to_title(const Text& text);

/// The filter `title`: words begin behind white space and one of -({[<.
Text to_title_by_words(const Text& text);

/// Cuts at line ends, which are left out.
std::vector<Text> split_lines(const Text& text, bool keeps_ends);

/// Cuts at `by`; nullopt: at white space, of which none is left. At most `count` times, from the
/// left or from the right; negative: everywhere. REQUIRES: `by` is not empty.
std::vector<Text> split(const Text& text, const std::optional<Text>& by, std::int64_t count);
std::vector<Text> split_from_right(
    const Text& text, const std::optional<Text>& by, std::int64_t count
);

}  // namespace stacking::tokenizers::jinja

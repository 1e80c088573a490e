// Functions that methods and filters of texts share.
// Invariant: bytes keep their origin, also where their case changes.
// Threading: pure functions, but for those that have a Context: one thread. Cost: one pass each; it
// is linear in all texts that are given. Errors: TooLarge.
#pragma once

#include "stacking/tokenizers/jinja/context.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace stacking::tokenizers::jinja {

enum class Sides { Both, Left, Right };

/// Takes characters of `any` away from the ends of a text; null: white space.
Text strip(const Text& text, Sides sides, const Text* any);

/// Puts `to` where `from` stands, at most `count` times; negative: everywhere.
Text replace(const Text& text, const Text& from, const Text& to, std::int64_t count);

/// Number of places where replace() would put `to`.
std::uint64_t count_replaced(const Text& text, const Text& from, std::int64_t count);

// Both do the same and pay for it. REQUIRES: the text's own weight is paid for.
Result<Value> paid_strip(Context& context, const Text& text, Sides sides, const Text* any);
Result<Value> paid_replace(
    Context& context, const Text& text, const Text& from, const Text& to, std::int64_t count
);

Text to_upper(const Text& text);
Text to_lower(const Text& text);

/// First character in upper case, the others in lower case.
Text capitalize(const Text& text);

/// Each letter behind something that is no letter in upper case, the others in lower case.
Text to_title(const Text& text);

/// The filter `title`: words begin behind white space and one of -({[<.
Text to_title_by_words(const Text& text);

// These give up behind kElementsMax + 1 parts, which no list can have.

/// Cuts at line ends, which are left out unless `keeps_ends`.
std::vector<Text> split_lines(const Text& text, bool keeps_ends);

/// Cuts at `by`; null: at white space, of which none is left. At most `count` times, from the
/// left or from the right; negative: everywhere. REQUIRES: `by` is not empty.
std::vector<Text> split(const Text& text, const Text* by, std::int64_t count);
std::vector<Text> split_from_right(const Text& text, const Text* by, std::int64_t count);

}  // namespace stacking::tokenizers::jinja

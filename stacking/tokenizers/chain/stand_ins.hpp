// Text in which each character that PCRE2 does not know is replaced by one that it does know, of
// the same general category and the same number of bytes. So expressions cut the text as a library
// with the Unicode of today would, and every offset stays.
// Invariant: the result has the size of the text, and is UTF-8.
// Threading: pure functions. Errors: none. REQUIRES: the text is UTF-8. Cost: one pass.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stacking::tokenizers {

/// Bytes of the character that begins with this byte.
std::size_t character_bytes(char first);

/// Returns the code point of a whole character.
std::uint32_t code_point_of(std::string_view character);

/// Returns nullopt when the text needs no stand-in: nearly always.
std::optional<std::string> with_stand_ins(std::string_view text);

}  // namespace stacking::tokenizers

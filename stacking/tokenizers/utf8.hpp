// Tells UTF-8 characters from other bytes, and makes text out of bytes that arrive in pieces.
// Invariant: the text of a Utf8Stream is UTF-8 and does not depend on how the bytes were cut. A
// byte that cannot be part of a character becomes U+FFFD, one for each longest wrong beginning
// (Unicode 15, 3.9, D93b).
// Threading: one thread per Utf8Stream. Errors: none. Cost: one pass.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stacking::tokenizers {

enum class Utf8Kind { Whole, Wrong, CutShort };

struct Utf8Character {
    Utf8Kind kind = Utf8Kind::Whole;
    std::size_t bytes = 0;  // length of the character, or of the bytes that can be none
};

/// Returns the first character of `bytes`. REQUIRES: `bytes` is not empty.
Utf8Character first_character(std::string_view bytes);

/// Whether a text is one character, and whole.
bool is_one_character(std::string_view text);

/// Offset of the first byte that is no UTF-8; the size when all bytes are UTF-8.
std::size_t utf8_prefix(std::string_view bytes);

/// Returns the text of bytes that are complete.
std::string to_utf8(std::string_view bytes);

/// Makes text out of tokens, each of which may be a part of a character; an incomplete character is
/// held back.
class Utf8Stream {
 public:
    /// Returns the characters that are complete.
    std::string push(std::string_view bytes);

    /// Ends the text: the bytes that are held back become U+FFFD.
    std::string finish();

 private:
    std::string held_;  // beginning of a character, at most 3 bytes
};

}  // namespace stacking::tokenizers

// UTF-8: which bytes are it, and text out of bytes that arrive in pieces.
// Invariant: what comes out is UTF-8, the same however the bytes were cut; a byte that cannot be
// part of a character becomes U+FFFD, one for each longest wrong beginning (Unicode 15, 3.9, D93b).
// Threading: one thread per Utf8Stream. Errors: none. Cost: one pass.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stacking::tokenizers {

enum class Utf8Kind { Whole, Wrong, CutShort };

struct Utf8Character {
    Utf8Kind kind = Utf8Kind::Whole;
    std::size_t bytes = 0;  // of it, or of what can be no character
};

/// The first one of `bytes`, which are not empty.
Utf8Character first_character(std::string_view bytes);

/// Where the first byte is that is no UTF-8; the size when there is none.
std::size_t utf8_prefix(std::string_view bytes);

/// A token may be a part of a character: what is not whole yet is held back.
class Utf8Stream {
 public:
    /// The characters that are whole now.
    std::string push(std::string_view bytes);

    /// No more bytes come: what is held becomes U+FFFD.
    std::string finish();

 private:
    std::string held_;  // at most 3 bytes, the beginning of a character
};

}  // namespace stacking::tokenizers

// GPT-2's alphabet: a printable character for each of the 256 bytes, so that a vocabulary of byte
// strings can be written as text. A printable Latin-1 character stands for itself; the other bytes,
// in order, have the characters from U+0100 on: a space is U+0120.
// Threading: pure functions. Errors: nullopt. Source: Radford et al. 2019, encoder.py.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stacking::tokenizers {

/// Returns the character of a byte, in UTF-8.
const std::string& letter_of(std::uint8_t byte);

/// Returns the bytes that the text of a token stands for, or nullopt when a character does not
/// belong to the alphabet.
std::optional<std::string> to_bytes(std::string_view letters);

}  // namespace stacking::tokenizers

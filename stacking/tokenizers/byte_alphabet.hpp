// GPT-2's alphabet: a printable character for each of the 256 bytes, so that a vocabulary of byte
// strings can be written as text. Printable Latin-1 stands for itself; the others, in order, are
// U+0100 and on: a space is U+0120.
// Threading: pure functions. Errors: nullopt. Source: Radford et al. 2019, encoder.py.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stacking::tokenizers {

/// The character of a byte, in UTF-8.
const std::string& letter_of(std::uint8_t byte);

/// The bytes that a token's text stands for; nullopt when a character is not of the alphabet.
std::optional<std::string> to_bytes(std::string_view letters);

}  // namespace stacking::tokenizers

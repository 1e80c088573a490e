#include "stacking/tokenizers/byte_alphabet.hpp"

#include "stacking/tokenizers/utf8.hpp"

#include <array>
#include <map>

namespace stacking::tokenizers {

namespace {

bool is_printable(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/// Encodes a code point up to U+07FF.
std::string to_utf8(unsigned code_point) {
    if (code_point < 0x80) {
        return {static_cast<char>(code_point)};
    }
    return {
        static_cast<char>(0xc0U | (code_point >> 6U)),
        static_cast<char>(0x80U | (code_point & 0x3fU))};
}

std::array<std::string, 256> make_letters() {
    std::array<std::string, 256> letters;
    unsigned next = 0x100;
    for (unsigned byte = 0; byte < letters.size(); ++byte) {
        letters[byte] = to_utf8(is_printable(byte) ? byte : next++);
    }
    return letters;
}

const std::array<std::string, 256>& letters() {
    static const std::array<std::string, 256> all = make_letters();
    return all;
}

using Bytes = std::map<std::string, char, std::less<>>;

Bytes make_bytes() {
    Bytes bytes;
    for (unsigned byte = 0; byte < letters().size(); ++byte) {
        bytes.emplace(letters()[byte], static_cast<char>(byte));
    }
    return bytes;
}

}  // namespace

const std::string& letter_of(std::uint8_t byte) {
    return letters()[byte];
}

std::optional<std::string> to_bytes(std::string_view text) {
    static const Bytes bytes = make_bytes();
    std::string result;
    while (!text.empty()) {
        const auto found = bytes.find(text.substr(0, first_character(text).bytes));
        if (found == bytes.end()) {
            return std::nullopt;
        }
        result += found->second;
        text.remove_prefix(found->first.size());
    }
    return result;
}

}  // namespace stacking::tokenizers

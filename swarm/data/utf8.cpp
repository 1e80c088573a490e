#include "swarm/data/utf8.hpp"

#include <cstring>

namespace swarm::data {
namespace {

constexpr std::uint64_t kHighBits = 0x8080808080808080;

}  // namespace

bool Utf8Check::add(std::string_view text) {
    std::size_t at = 0;
    while (valid_ && at < text.size()) {
        if (needed_ == 0) {
            std::uint64_t eight = 0;
            for (; at + sizeof eight <= text.size(); at += sizeof eight) {
                std::memcpy(&eight, text.data() + at, sizeof eight);
                if ((eight & kHighBits) != 0) {
                    break;
                }
            }
            if (at == text.size()) {
                break;
            }
        }
        valid_ = add_byte(static_cast<unsigned char>(text[at]));
        ++at;
    }
    return valid_;
}

/// The table of well-formed byte sequences in the Unicode Standard, section 3.9.
bool Utf8Check::add_byte(unsigned char byte) {
    if (needed_ > 0) {
        const bool continues = byte >= low_ && byte <= high_;
        low_ = 0x80;
        high_ = 0xBF;
        --needed_;
        return continues;
    }
    if (byte < 0x80) {
        return true;
    }
    if (byte < 0xC2 || byte > 0xF4) {
        return false;
    }
    if (byte < 0xE0) {
        needed_ = 1;
        return true;
    }
    needed_ = byte < 0xF0 ? 2 : 3;
    low_ = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : 0x80;
    high_ = byte == 0xED ? 0x9F : byte == 0xF4 ? 0x8F : 0xBF;
    return true;
}

std::size_t piece_end(std::string_view text, std::size_t bytes_max) {
    if (text.size() <= bytes_max) {
        return text.size();
    }
    const std::size_t line = text.rfind('\n', bytes_max - 1);
    if (line != std::string_view::npos) {
        return line + 1;
    }
    for (std::size_t end = bytes_max; end + 4 > bytes_max; --end) {
        if ((static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U) {
            return end;
        }
    }
    return bytes_max;  // no valid text
}

}  // namespace swarm::data

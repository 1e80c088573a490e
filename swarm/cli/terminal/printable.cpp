#include "swarm/cli/terminal/printable.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace swarm::cli {
namespace {

/// A character of UTF-8 at the begin of a text; no bytes when there is none.
struct Character {
    std::size_t bytes = 0;
    std::uint32_t point = 0;
};

Character first_character(std::string_view text) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) {
        return {1, lead};
    }
    // Code points that could be written with fewer bytes are no UTF-8.
    constexpr std::array<std::uint32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
    const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc0 || lead >= 0xf8 || text.size() < bytes) {
        return {};
    }
    std::uint32_t point = lead & (0x7fU >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xc0U) != 0x80) {
            return {};
        }
        point = (point << 6U) | (byte(i) & 0x3fU);
    }
    const bool is_surrogate = point >= 0xd800 && point < 0xe000;
    const bool exists = point >= kLeast[bytes] && point <= 0x10ffff && !is_surrogate;
    return exists ? Character{bytes, point} : Character{};
}

bool is_control(std::uint32_t point) {
    if (point == '\n' || point == '\t') {
        return false;
    }
    const bool commands = point < 0x20 || (point >= 0x7f && point < 0xa0);
    const bool turns = (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
    return commands || turns;
}

template <class Value>
std::string written_out(const char* format, Value value) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), format, static_cast<unsigned>(value));
    return text.data();
}

}  // namespace

std::string printable(std::string_view text) {
    std::string safe;
    safe.reserve(text.size());
    while (!text.empty()) {
        const Character next = first_character(text);
        const std::size_t bytes = next.bytes == 0 ? 1 : next.bytes;
        if (next.bytes == 0) {
            safe += written_out("\\x%02x", static_cast<unsigned char>(text[0]));
        } else if (is_control(next.point)) {
            safe += written_out(next.point < 0x100 ? "\\x%02x" : "\\u%04x", next.point);
        } else {
            safe += text.substr(0, bytes);
        }
        text.remove_prefix(bytes);
    }
    return safe;
}

}  // namespace swarm::cli

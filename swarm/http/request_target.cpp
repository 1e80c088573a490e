#include "swarm/http/request_target.hpp"

#include "swarm/base/try.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <optional>

namespace swarm::http {
namespace {

Error malformed(std::string detail) {
    return {ErrorCode::Malformed, Reaction::Reject, std::move(detail)};
}

std::optional<unsigned> hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return static_cast<unsigned>(c - '0');
    }
    const char lower = static_cast<char>(c | 0x20);
    if (lower >= 'a' && lower <= 'f') {
        return static_cast<unsigned>(lower - 'a' + 10);
    }
    return std::nullopt;
}

Result<std::string> decode_percents(std::string_view text) {
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            decoded += text[i];
            continue;
        }
        const auto high = i + 2 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
        const auto low = i + 2 < text.size() ? hex_digit(text[i + 2]) : std::nullopt;
        if (!high || !low) {
            return malformed("a percent sign in the path is not followed by two hex digits");
        }
        decoded += static_cast<char>(*high << 4U | *low);
        i += 2;
    }
    return decoded;
}

/// Returns the length of the UTF-8 character at the front; 0 when there is none. Forms that are too
/// long, surrogates and what lies above U+10FFFF are none (RFC 3629).
std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
    const unsigned lead = byte(0);
    if (lead < 0x80) {
        return 1;
    }
    if (lead >= 0xC2 && lead <= 0xDF) {
        return continues(1) ? 2 : 0;
    }
    if (lead >= 0xE0 && lead <= 0xEF) {
        const bool fits = (lead != 0xE0 || byte(1) >= 0xA0) && (lead != 0xED || byte(1) < 0xA0);
        return fits && continues(1) && continues(2) ? 3 : 0;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        const bool fits = (lead != 0xF0 || byte(1) >= 0x90) && (lead != 0xF4 || byte(1) < 0x90);
        return fits && continues(1) && continues(2) && continues(3) ? 4 : 0;
    }
    return 0;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        if (length == 0) {
            return false;
        }
        text.remove_prefix(length);
    }
    return true;
}

bool has_control_character(std::string_view text) {
    return std::any_of(text.begin(), text.end(), [](unsigned char c) {
        return c < 0x20 || c == 0x7F;
    });
}

bool has_dot_segment(std::string_view path) {
    for (std::size_t begin = 0; begin <= path.size();) {
        const std::size_t end = std::min(path.find('/', begin), path.size());
        const std::string_view segment = path.substr(begin, end - begin);
        if (segment == "." || segment == "..") {
            return true;
        }
        begin = end + 1;
    }
    return false;
}

/// Removes "http://host" from the front, as a proxy sends it (RFC 9112, 3.2.2).
std::string_view without_authority(std::string_view text) {
    for (const std::string_view scheme : {"http://", "https://"}) {
        const bool matches =
            text.size() > scheme.size() &&
            std::equal(scheme.begin(), scheme.end(), text.begin(), [](char a, char b) {
                return a == std::tolower(static_cast<unsigned char>(b));
            });
        if (matches) {
            const std::size_t end = text.find_first_of("/?", scheme.size());
            return end == std::string_view::npos ? "/" : text.substr(end);
        }
    }
    return text;
}

}  // namespace

Result<Target> parse_target(std::string_view text) {
    text = without_authority(text);
    if (text.find('#') != std::string_view::npos) {
        return malformed("the target has a fragment, which stays with the client");
    }
    const std::size_t mark = std::min(text.find('?'), text.size());
    Target target;
    SWARM_TRY(target.path, decode_percents(text.substr(0, mark)));
    target.query = text.substr(std::min(mark + 1, text.size()));
    if (target.path.empty() && mark < text.size()) {
        target.path = "/";  // http://host?query
    }
    if (!target.path.starts_with('/')) {
        return malformed("the path does not begin with /");
    }
    if (has_control_character(target.path)) {
        return malformed("the path has a control character");
    }
    if (!is_utf8(target.path) || !is_utf8(target.query)) {
        return malformed("the target is not UTF-8");
    }
    if (has_dot_segment(target.path)) {
        return malformed("the path has a segment . or ..");
    }
    return target;
}

}  // namespace swarm::http

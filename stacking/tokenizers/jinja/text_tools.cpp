#include "stacking/tokenizers/jinja/text_tools.hpp"

#include "stacking/tokenizers/jinja/case_mapping.hpp"

#include <algorithm>
#include <utility>

namespace stacking::tokenizers::jinja {
namespace {

constexpr std::string_view kWordOpeners = "-({[<";

/// Whether the code point has two cases, near enough to Python's str.title().
bool is_cased(char32_t code_point) {
    std::string upper;
    std::string lower;
    append_upper(upper, code_point);
    append_lower(lower, code_point);
    return upper != lower;
}

/// Maps each character by `map`, which appends its image.
template <class Map>
Text mapped(const Text& text, Map map) {
    Text out;
    const std::string_view bytes = text.bytes();
    std::size_t at = 0;
    for (const Text::Run& run : text.runs()) {
        std::string image;
        for (; at < run.end; at += character_bytes(bytes[at])) {
            map(image, code_point_at(bytes.substr(at)));
        }
        out.append(image, run.origin);
    }
    return out;
}

bool is_one_of(std::string_view character, const std::optional<Text>& any) {
    if (!any) {
        return is_space(code_point_at(character));
    }
    for (std::string_view rest = any->bytes(); !rest.empty();) {
        const std::size_t length = character_bytes(rest.front());
        if (rest.substr(0, length) == character) {
            return true;
        }
        rest.remove_prefix(length);
    }
    return false;
}

bool ends_line(char32_t code_point) {
    return (code_point >= 0x0a && code_point <= 0x0d) ||
           (code_point >= 0x1c && code_point <= 0x1e) || code_point == 0x85 ||
           code_point == 0x2028 || code_point == 0x2029;
}

/// Where the character before `at` begins.
std::size_t previous_character(std::string_view bytes, std::size_t at) {
    --at;
    while (at > 0 && (static_cast<unsigned char>(bytes[at]) & 0xc0U) == 0x80) {
        --at;
    }
    return at;
}

std::size_t skip_spaces(std::string_view bytes, std::size_t at) {
    while (at < bytes.size() && is_space(code_point_at(bytes.substr(at)))) {
        at += character_bytes(bytes[at]);
    }
    return at;
}

std::size_t skip_spaces_back(std::string_view bytes, std::size_t end) {
    while (end > 0) {
        const std::size_t before = previous_character(bytes, end);
        if (!is_space(code_point_at(bytes.substr(before)))) {
            break;
        }
        end = before;
    }
    return end;
}

std::vector<Text> split_words(const Text& text, std::int64_t count) {
    const std::string_view bytes = text.bytes();
    std::vector<Text> words;
    for (std::size_t at = skip_spaces(bytes, 0); at < bytes.size();) {
        if (static_cast<std::int64_t>(words.size()) == count) {
            words.push_back(text.part(at));
            break;
        }
        std::size_t end = at;
        while (end < bytes.size() && !is_space(code_point_at(bytes.substr(end)))) {
            end += character_bytes(bytes[end]);
        }
        words.push_back(text.part(at, end - at));
        at = skip_spaces(bytes, end);
    }
    return words;
}

std::vector<Text> split_words_from_right(const Text& text, std::int64_t count) {
    const std::string_view bytes = text.bytes();
    std::vector<Text> words;
    for (std::size_t end = skip_spaces_back(bytes, bytes.size()); end > 0;) {
        if (static_cast<std::int64_t>(words.size()) == count) {
            words.push_back(text.part(0, end));
            break;
        }
        std::size_t at = end;
        while (at > 0) {
            const std::size_t before = previous_character(bytes, at);
            if (is_space(code_point_at(bytes.substr(before)))) {
                break;
            }
            at = before;
        }
        words.push_back(text.part(at, end - at));
        end = skip_spaces_back(bytes, at);
    }
    std::reverse(words.begin(), words.end());
    return words;
}

}  // namespace

Text strip(const Text& text, Sides sides, const std::optional<Text>& any) {
    const std::string_view bytes = text.bytes();
    std::size_t begin = 0;
    std::size_t end = bytes.size();
    while (sides != Sides::Right && begin < end) {
        const std::size_t length = character_bytes(bytes[begin]);
        if (!is_one_of(bytes.substr(begin, length), any)) {
            break;
        }
        begin += length;
    }
    while (sides != Sides::Left && end > begin) {
        const std::size_t before = previous_character(bytes, end);
        if (!is_one_of(bytes.substr(before, end - before), any)) {
            break;
        }
        end = before;
    }
    return text.part(begin, end - begin);
}

Text replace(const Text& text, const Text& from, const Text& to, std::int64_t count) {
    const std::string& bytes = text.bytes();
    Text out;
    std::size_t at = 0;
    if (from.empty()) {
        for (; at <= bytes.size() && count != 0; --count) {
            out.append(to);
            if (at == bytes.size()) {
                return out;
            }
            const std::size_t length = character_bytes(bytes[at]);
            out.append(text, at, length);
            at += length;
        }
        out.append(text, at, bytes.size() - at);
        return out;
    }
    for (; count != 0; --count) {
        const std::size_t found = bytes.find(from.bytes(), at);
        if (found == std::string::npos) {
            break;
        }
        out.append(text, at, found - at);
        out.append(to);
        at = found + from.size();
    }
    out.append(text, at, bytes.size() - at);
    return out;
}

std::uint64_t replaced_bytes(const Text& text, const Text& from, const Text& to) {
    std::uint64_t times = from.empty() ? text.size() + 1 : 0;
    if (!from.empty()) {
        for (std::size_t at = text.bytes().find(from.bytes()); at != std::string::npos;
             at = text.bytes().find(from.bytes(), at + from.size())) {
            ++times;
        }
    }
    return text.size() + times * to.size();
}

Text to_upper(const Text& text) {
    return mapped(text, append_upper);
}

Text to_lower(const Text& text) {
    return mapped(text, append_lower);
}

Text capitalize(const Text& text) {
    bool first = true;
    return mapped(text, [&](std::string& out, char32_t code_point) {
        std::exchange(first, false) ? append_upper(out, code_point) : append_lower(out, code_point);
    });
}

Text to_title(const Text& text) {
    bool within = false;
    return mapped(text, [&](std::string& out, char32_t code_point) {
        within ? append_lower(out, code_point) : append_upper(out, code_point);
        within = is_cased(code_point);
    });
}

Text to_title_by_words(const Text& text) {
    bool within = false;
    return mapped(text, [&](std::string& out, char32_t code_point) {
        const bool opens = is_space(code_point) ||
                           (code_point < 0x80 && kWordOpeners.find(static_cast<char>(code_point)) !=
                                                     std::string_view::npos);
        within ? append_lower(out, code_point) : append_upper(out, code_point);
        within = !opens;
    });
}

std::vector<Text> split_lines(const Text& text, bool keeps_ends) {
    const std::string_view bytes = text.bytes();
    std::vector<Text> lines;
    std::size_t begin = 0;
    for (std::size_t at = 0; at < bytes.size();) {
        std::size_t length = character_bytes(bytes[at]);
        if (!ends_line(code_point_at(bytes.substr(at)))) {
            at += length;
            continue;
        }
        length = bytes.substr(at).starts_with("\r\n") ? 2 : length;
        lines.push_back(text.part(begin, at + (keeps_ends ? length : 0) - begin));
        at += length;
        begin = at;
    }
    if (begin < bytes.size()) {
        lines.push_back(text.part(begin));
    }
    return lines;
}

std::vector<Text> split(const Text& text, const std::optional<Text>& by, std::int64_t count) {
    if (!by) {
        return split_words(text, count);
    }
    std::vector<Text> parts;
    std::size_t at = 0;
    for (; count != 0; --count) {
        const std::size_t found = text.bytes().find(by->bytes(), at);
        if (found == std::string::npos) {
            break;
        }
        parts.push_back(text.part(at, found - at));
        at = found + by->size();
    }
    parts.push_back(text.part(at));
    return parts;
}

std::vector<Text> split_from_right(
    const Text& text, const std::optional<Text>& by, std::int64_t count
) {
    if (!by) {
        return split_words_from_right(text, count);
    }
    std::vector<Text> parts;
    std::size_t end = text.size();
    for (; count != 0 && end >= by->size(); --count) {
        const std::size_t found = text.bytes().rfind(by->bytes(), end - by->size());
        if (found == std::string::npos) {
            break;
        }
        parts.push_back(text.part(found + by->size(), end - found - by->size()));
        end = found;
    }
    parts.push_back(text.part(0, end));
    std::reverse(parts.begin(), parts.end());
    return parts;
}

}  // namespace stacking::tokenizers::jinja

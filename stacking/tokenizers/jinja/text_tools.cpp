#include "stacking/tokenizers/jinja/text_tools.hpp"

#include "stacking/tokenizers/jinja/case_mapping.hpp"
#include "stacking/tokenizers/jinja/limits.hpp"
#include "stacking/tokenizers/jinja/text_search.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <array>
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

/// A set of characters that looks one up in logarithmic time.
class Characters {
 public:
    /// Null: white space.
    explicit Characters(const Text* any) : is_space_(any == nullptr) {
        const std::string_view bytes = any == nullptr ? std::string_view() : any->bytes();
        for (std::size_t at = 0; at < bytes.size(); at += character_bytes(bytes[at])) {
            if (const char32_t code_point = code_point_at(bytes.substr(at)); code_point < 0x80) {
                ascii_[code_point] = true;
            } else {
                others_.push_back(code_point);
            }
        }
        std::sort(others_.begin(), others_.end());
    }

    [[nodiscard]] bool has(char32_t code_point) const {
        return is_space_           ? is_space(code_point)
               : code_point < 0x80 ? ascii_[code_point]
                                   : std::binary_search(others_.begin(), others_.end(), code_point);
    }

 private:
    bool is_space_;
    std::array<bool, 0x80> ascii_{};
    std::vector<char32_t> others_;
};

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

bool is_full(const std::vector<Text>& parts) {
    return parts.size() > kElementsMax;
}

std::vector<Text> split_words(const Text& text, std::int64_t count) {
    const std::string_view bytes = text.bytes();
    std::vector<Text> words;
    for (std::size_t at = skip_spaces(bytes, 0); at < bytes.size() && !is_full(words);) {
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
    for (std::size_t end = skip_spaces_back(bytes, bytes.size()); end > 0 && !is_full(words);) {
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

Text strip(const Text& text, Sides sides, const Text* any) {
    const Characters characters(any);
    const std::string_view bytes = text.bytes();
    std::size_t begin = 0;
    std::size_t end = bytes.size();
    while (sides != Sides::Right && begin < end &&
           characters.has(code_point_at(bytes.substr(begin)))) {
        begin += character_bytes(bytes[begin]);
    }
    while (sides != Sides::Left && end > begin) {
        const std::size_t before = previous_character(bytes, end);
        if (!characters.has(code_point_at(bytes.substr(before)))) {
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
    TextSearch search(bytes, from.bytes());
    for (; count != 0; --count) {
        const std::size_t found = search.next();
        if (found == TextSearch::kNone) {
            break;
        }
        out.append(text, at, found - at);
        out.append(to);
        at = found + from.size();
    }
    out.append(text, at, bytes.size() - at);
    return out;
}

std::uint64_t count_replaced(const Text& text, const Text& from, std::int64_t count) {
    const std::size_t most = count < 0 ? TextSearch::kNone : static_cast<std::size_t>(count);
    return from.empty() ? std::min(count_characters(text.bytes()) + 1, most)
                        : TextSearch(text.bytes(), from.bytes()).count(most);
}

Result<Value> paid_strip(Context& context, const Text& text, Sides sides, const Text* any) {
    SWARM_TRY(context.charge(any == nullptr ? 0 : any->size() / kCharactersPerStep));
    Text stripped = strip(text, sides, any);
    SWARM_TRY(context.charge((text.size() - stripped.size()) / kCharactersPerStep));
    return Value(std::move(stripped));
}

Result<Value> paid_replace(
    Context& context, const Text& text, const Text& from, const Text& to, std::int64_t count
) {
    SWARM_TRY(context.charge((text.size() + from.size()) / kBytesPerStep));
    const std::uint64_t times = count_replaced(text, from, count);
    SWARM_TRY(context.charge(times * (1 + to.weight())));
    SWARM_TRY(context.charge_bytes(text.size() + times * to.size() - times * from.size()));
    return Value(replace(text, from, to, count));
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
    for (std::size_t at = 0; at < bytes.size() && !is_full(lines);) {
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

std::vector<Text> split(const Text& text, const Text* by, std::int64_t count) {
    if (by == nullptr) {
        return split_words(text, count);
    }
    std::vector<Text> parts;
    std::size_t at = 0;
    TextSearch search(text.bytes(), by->bytes());
    for (; count != 0 && !is_full(parts); --count) {
        const std::size_t found = search.next();
        if (found == TextSearch::kNone) {
            break;
        }
        parts.push_back(text.part(at, found - at));
        at = found + by->size();
    }
    parts.push_back(text.part(at));
    return parts;
}

std::vector<Text> split_from_right(const Text& text, const Text* by, std::int64_t count) {
    if (by == nullptr) {
        return split_words_from_right(text, count);
    }
    std::vector<Text> parts;
    std::size_t end = text.size();
    TextSearch search(text.bytes(), by->bytes(), TextSearch::From::Right);
    for (; count != 0 && !is_full(parts); --count) {
        const std::size_t found = search.next();
        if (found == TextSearch::kNone) {
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

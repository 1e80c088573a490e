#include "stacking/tokenizers/jinja/text.hpp"

#include "stacking/tokenizers/jinja/limits.hpp"

#include <algorithm>
#include <iterator>

namespace stacking::tokenizers::jinja {
namespace {

struct CodePoints {
    char32_t first;
    char32_t last;
};

/// Characters that repr() writes as escapes: control, format, private use, and spaces but ' '.
constexpr CodePoints kNotPrintable[] = {
    {0x00, 0x1f},       {0x7f, 0xa0},       {0xad, 0xad},       {0x600, 0x605},
    {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},
    {0x8e2, 0x8e2},     {0x1680, 0x1680},   {0x180e, 0x180e},   {0x2000, 0x200f},
    {0x2028, 0x202f},   {0x205f, 0x2064},   {0x2066, 0x206f},   {0x3000, 0x3000},
    {0xd800, 0xf8ff},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0x110bd, 0x110bd},
    {0x110cd, 0x110cd}, {0x13430, 0x13438}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
    {0xe0001, 0xe0001}, {0xe0020, 0xe007f}, {0xf0000, 0x10ffff}};

constexpr CodePoints kSpaces[] = {
    {0x09, 0x0d},
    {0x1c, 0x20},
    {0x85, 0x85},
    {0xa0, 0xa0},
    {0x1680, 0x1680},
    {0x2000, 0x200a},
    {0x2028, 0x2029},
    {0x202f, 0x202f},
    {0x205f, 0x205f},
    {0x3000, 0x3000}};

template <std::size_t N>
bool is_within(const CodePoints (&ranges)[N], char32_t code_point) {
    return std::any_of(std::begin(ranges), std::end(ranges), [&](const CodePoints& range) {
        return range.first <= code_point && code_point <= range.last;
    });
}

}  // namespace

std::size_t Text::run_at(std::size_t at) const {
    const auto found =
        std::upper_bound(runs_.begin(), runs_.end(), at, [](std::size_t place, const Run& run) {
            return place < run.end;
        });
    return static_cast<std::size_t>(found - runs_.begin());
}

std::uint64_t Text::weight() const {
    return bytes_.size() / kBytesPerStep + runs_.size() / kRunsPerStep;
}

Origin Text::origin_at(std::size_t at) const {
    return runs_[run_at(at)].origin;
}

bool Text::has_data(std::size_t begin, std::size_t count) const {
    if (count == 0) {
        return false;
    }
    for (std::size_t i = run_at(begin); i < runs_.size(); ++i) {
        if (runs_[i].origin == Origin::Data) {
            return true;
        }
        if (runs_[i].end >= begin + count) {
            return false;
        }
    }
    return false;
}

void Text::append(std::string_view bytes, Origin origin) {
    if (bytes.empty()) {
        return;
    }
    bytes_ += bytes;
    if (!runs_.empty() && runs_.back().origin == origin) {
        runs_.back().end = bytes_.size();
    } else {
        runs_.push_back({bytes_.size(), origin});
    }
}

void Text::append(const Text& other, std::size_t begin, std::size_t count) {
    const std::size_t end = begin + std::min(count, other.size() - begin);
    const std::string_view bytes = other.bytes_;
    for (std::size_t i = other.run_at(begin); begin < end; ++i) {
        const std::size_t stop = std::min(end, other.runs_[i].end);
        append(bytes.substr(begin, stop - begin), other.runs_[i].origin);
        begin = stop;
    }
}

Text Text::part(std::size_t begin, std::size_t count) const {
    Text text;
    text.append(*this, begin, count);
    return text;
}

std::size_t character_bytes(char first) {
    const auto byte = static_cast<unsigned char>(first);
    return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

std::size_t count_characters(std::string_view text) {
    const auto begins = [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80;
    };
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
}

std::size_t bytes_of_characters(std::string_view text, std::size_t count) {
    std::size_t at = 0;
    for (; count > 0 && at < text.size(); --count) {
        at += character_bytes(text[at]);
    }
    return std::min(at, text.size());
}

bool is_utf8(std::string_view bytes) {
    std::string again;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t length = character_bytes(bytes[at]);
        const char32_t code_point = code_point_at(bytes.substr(at, length));
        again.clear();
        append_code_point(again, code_point);
        if (bytes.substr(at, length) != again || code_point > 0x10ffff ||
            (code_point >= 0xd800 && code_point < 0xe000)) {
            return false;
        }
        at += length;
    }
    return true;
}

std::string one_line(std::string_view text) {
    std::size_t size = std::min(text.size(), kMessageBytesMax);
    while (size > 0 && size < text.size() &&
           (static_cast<unsigned char>(text[size]) & 0xc0U) == 0x80) {
        --size;  // a character that is cut
    }
    std::string line(text.substr(0, size));
    std::replace_if(
        line.begin(),
        line.end(),
        [](char letter) { return static_cast<unsigned char>(letter) < 32 || letter == 127; },
        ' '
    );
    return line;
}

std::vector<std::size_t> character_starts(std::string_view text) {
    std::vector<std::size_t> starts;
    for (std::size_t at = 0; at < text.size(); at += character_bytes(text[at])) {
        starts.push_back(at);
    }
    starts.push_back(text.size());
    return starts;
}

char32_t code_point_at(std::string_view text) {
    const auto byte = [&](std::size_t at) {
        return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
    };
    const auto tail = [&](std::size_t at) { return byte(at) & 0x3fU; };
    switch (character_bytes(text.front())) {
        case 1:
            return byte(0);
        case 2:
            return (byte(0) & 0x1fU) << 6U | tail(1);
        case 3:
            return (byte(0) & 0x0fU) << 12U | tail(1) << 6U | tail(2);
        default:
            return (byte(0) & 0x07U) << 18U | tail(1) << 12U | tail(2) << 6U | tail(3);
    }
}

void append_code_point(std::string& text, char32_t code_point) {
    const auto tail = [&](unsigned shift) {
        text += static_cast<char>(0x80U | (code_point >> shift & 0x3fU));
    };
    if (code_point < 0x80) {
        text += static_cast<char>(code_point);
    } else if (code_point < 0x800) {
        text += static_cast<char>(0xc0U | code_point >> 6U);
        tail(0);
    } else if (code_point < 0x10000) {
        text += static_cast<char>(0xe0U | code_point >> 12U);
        tail(6);
        tail(0);
    } else {
        text += static_cast<char>(0xf0U | code_point >> 18U);
        tail(12);
        tail(6);
        tail(0);
    }
}

bool is_space(char32_t code_point) {
    if (code_point < 0x80) {
        return code_point == 0x20 || (code_point >= 0x09 && code_point <= 0x0d) ||
               (code_point >= 0x1c && code_point <= 0x1f);
    }
    return is_within(kSpaces, code_point);
}

bool is_printable(char32_t code_point) {
    if (code_point < 0x80) {
        return code_point >= 0x20 && code_point != 0x7f;
    }
    return !is_within(kNotPrintable, code_point);
}

}  // namespace stacking::tokenizers::jinja

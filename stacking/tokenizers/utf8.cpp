#include "stacking/tokenizers/utf8.hpp"

#include <utility>

namespace stacking::tokenizers {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

/// The bytes that may follow a leading byte: their number, and the range of the first of them.
struct Tail {
    std::size_t bytes;
    unsigned low;
    unsigned high;
};

Tail tail_of(unsigned lead) {
    if (lead < 0x80) {
        return {0, 0, 0};
    }
    if (lead >= 0xc2 && lead <= 0xdf) {
        return {1, 0x80, 0xbf};
    }
    if (lead >= 0xe0 && lead <= 0xef) {  // not overlong, no surrogates
        return {2, lead == 0xe0 ? 0xa0U : 0x80U, lead == 0xed ? 0x9fU : 0xbfU};
    }
    if (lead >= 0xf0 && lead <= 0xf4) {  // not overlong, up to U+10FFFF
        return {3, lead == 0xf0 ? 0x90U : 0x80U, lead == 0xf4 ? 0x8fU : 0xbfU};
    }
    return {1, 1, 0};  // no leading byte: an empty range
}

}  // namespace

Utf8Character first_character(std::string_view bytes) {
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    const Tail tail = tail_of(at(0));
    if (tail.low > tail.high) {
        return {Utf8Kind::Wrong, 1};
    }
    for (std::size_t i = 1; i <= tail.bytes; ++i) {
        if (i == bytes.size()) {
            return {Utf8Kind::CutShort, i};
        }
        const unsigned low = i == 1 ? tail.low : 0x80;
        const unsigned high = i == 1 ? tail.high : 0xbf;
        if (at(i) < low || at(i) > high) {
            return {Utf8Kind::Wrong, i};
        }
    }
    return {Utf8Kind::Whole, tail.bytes + 1};
}

bool is_one_character(std::string_view text) {
    if (text.empty()) {
        return false;
    }
    const Utf8Character first = first_character(text);
    return first.kind == Utf8Kind::Whole && first.bytes == text.size();
}

std::size_t utf8_prefix(std::string_view bytes) {
    std::size_t at = 0;
    while (at < bytes.size()) {
        const Utf8Character character = first_character(bytes.substr(at));
        if (character.kind != Utf8Kind::Whole) {
            return at;
        }
        at += character.bytes;
    }
    return at;
}

std::string to_utf8(std::string_view bytes) {
    Utf8Stream stream;
    std::string text = stream.push(bytes);
    return text + stream.finish();
}

std::string Utf8Stream::push(std::string_view bytes) {
    held_ += bytes;
    std::string text;
    std::string_view left = held_;
    while (!left.empty()) {
        const Utf8Character character = first_character(left);
        if (character.kind == Utf8Kind::CutShort) {
            break;
        }
        text += character.kind == Utf8Kind::Whole ? left.substr(0, character.bytes) : kReplacement;
        left.remove_prefix(character.bytes);
    }
    held_ = std::string(left);
    return text;
}

std::string Utf8Stream::finish() {
    return std::exchange(held_, {}).empty() ? std::string() : std::string(kReplacement);
}

}  // namespace stacking::tokenizers

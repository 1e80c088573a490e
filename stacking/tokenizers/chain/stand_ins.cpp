#include "stacking/tokenizers/chain/stand_ins.hpp"

#include "stacking/tokenizers/chain/stand_in_table.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace stacking::tokenizers {

namespace {

constexpr unsigned char kFirstOfThreeBytes = 0xE0;

/// Returns null for a character that PCRE2 knows.
const StandIn* find(std::uint32_t code_point) {
    const auto* const found = std::lower_bound(
        kStandIns.begin(),
        kStandIns.end(),
        code_point,
        [](const StandIn& run, std::uint32_t wanted) { return run.last < wanted; }
    );
    return found != kStandIns.end() && found->first <= code_point ? &*found : nullptr;
}

/// Returns where ASCII ends, at `at` or later. It looks at eight bytes at once: few texts have much
/// else, and every one comes by here.
std::size_t ascii_end(std::string_view text, std::size_t at) {
    for (std::uint64_t eight = 0; at + sizeof eight <= text.size(); at += sizeof eight) {
        std::memcpy(&eight, text.data() + at, sizeof eight);
        if ((eight & 0x8080808080808080) != 0) {
            break;
        }
    }
    while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) {
        ++at;
    }
    return at;
}

/// Writes a character over one of the same length.
void overwrite(char* at, std::size_t bytes, std::uint32_t code_point) {
    for (std::size_t i = bytes - 1; i > 0; --i) {
        at[i] = static_cast<char>(0x80U | (code_point & 0x3FU));
        code_point >>= 6U;
    }
    const unsigned lead = bytes == 4 ? 0xF0U : bytes == 3 ? 0xE0U : 0xC0U;
    at[0] = static_cast<char>(lead | code_point);
}

}  // namespace

std::size_t character_bytes(char first) {
    const auto byte = static_cast<unsigned char>(first);
    return byte < 0x80 ? 1 : byte < kFirstOfThreeBytes ? 2 : byte < 0xF0 ? 3 : 4;
}

std::uint32_t code_point_of(std::string_view character) {
    const auto first = static_cast<unsigned char>(character.front());
    if (character.size() == 1) {
        return first;
    }
    std::uint32_t code_point = first & (0x7FU >> character.size());
    for (const char tail : character.substr(1)) {
        code_point = (code_point << 6U) | (static_cast<unsigned char>(tail) & 0x3FU);
    }
    return code_point;
}

std::optional<std::string> with_stand_ins(std::string_view text) {
    std::optional<std::string> changed;
    for (std::size_t at = 0; (at = ascii_end(text, at)) < text.size();) {
        const std::size_t bytes = std::min(character_bytes(text[at]), text.size() - at);
        if (const StandIn* const run = find(code_point_of(text.substr(at, bytes)))) {
            if (!changed) {
                changed = std::string(text);
            }
            overwrite(changed->data() + at, bytes, run->stand_in);
        }
        at += bytes;
    }
    return changed;
}

}  // namespace stacking::tokenizers

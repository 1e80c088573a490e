// The short name of a peer, by which lines for people name it.
// Threading: a pure function.
#pragma once

#include "swarm/base/ids.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace swarm {

/// Returns the first 8 digits of the peer's id in base 32, as net::to_text() writes it.
inline std::string to_short_text(const PeerId& peer) {
    constexpr std::string_view kDigits = "abcdefghijklmnopqrstuvwxyz234567";
    constexpr unsigned kShortDigits = 8;
    std::string text;
    for (unsigned digit = 1; digit <= kShortDigits; ++digit) {
        text += kDigits[static_cast<std::size_t>(peer.words[0] >> (64 - 5 * digit)) & 31U];
    }
    return text;
}

}  // namespace swarm

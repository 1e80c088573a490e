// A flag of tokens that a run trains on, beside their ids.
// Invariant: vocabularies have at most 2^24 tokens, so the highest bit of an id is free. A token
// with the flag is read like any other; only as a target does it count for no loss. Whoever looks
// up a token takes token_id() of it.
// Threading: pure functions.
#pragma once

#include <cstdint>

namespace swarm {

/// Set in a token that counts for no loss where it is the target.
inline constexpr std::uint32_t kNoLossFlag = 1U << 31;

constexpr std::uint32_t token_id(std::uint32_t token) {
    return token & ~kNoLossFlag;
}

constexpr bool counts_for_loss(std::uint32_t token) {
    return (token & kNoLossFlag) == 0;
}

}  // namespace swarm

// The mean of several members' distributions, from the likeliest tokens of each.
// A token that is missing from a member's list gets an equal part of the probability that the list
// leaves over. Where the lists hold the whole vocabulary, the mean is exact.
// Invariant: the result is sorted best first, ties in token order, and depends on lists and weights
// only. Threading: pure functions. Errors: none. REQUIRES: the lists, which come from peers, hold
// tokens below `vocabulary` and finite numbers.
// Cost: O(members x listed tokens x log listed tokens).
#pragma once

#include "swarm/protocol/session_messages.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace stacking::composition {

/// One member's distribution of the next token.
class Candidates {
 public:
    /// `vocabulary`: V, at least the number of listed tokens.
    Candidates(std::span<const swarm::protocol::TokenScore> listed, std::uint32_t vocabulary);

    /// Natural logarithm of the probability of any token.
    [[nodiscard]] double log_probability(std::uint32_t token) const;

    [[nodiscard]] const std::map<std::uint32_t, double>& listed() const { return listed_; }

 private:
    std::map<std::uint32_t, double> listed_;  // first entry of each token
    double log_other_ = 0;                    // log-probability of each unlisted token
};

/// Returns at most `count` tokens. `log_weights`: one per member; minus infinity leaves the member
/// out.
std::vector<swarm::protocol::TokenScore> mix_candidates(
    std::span<const Candidates> members, std::span<const double> log_weights, std::size_t count
);

}  // namespace stacking::composition

// The mean of several members' distributions, from the likeliest tokens of each.
// A token that a member does not list gets an equal share of what that member's list leaves over;
// where the lists hold the whole vocabulary, the mean is exact.
// Invariant: best first, ties in token order; a function of lists and weights alone.
// Threading: pure. Errors: none; lists come from peers, and must hold tokens below `vocabulary`
// and finite numbers. Cost: O(members x listed tokens x log listed tokens).
#pragma once

#include "swarm/protocol/session_messages.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace stacking::stack {

/// What one member says of the next token.
class Candidates {
 public:
    /// `vocabulary`: V, at least the number of listed tokens.
    Candidates(std::span<const swarm::protocol::TokenScore> listed, std::uint32_t vocabulary);

    /// Natural logarithm, of any token.
    [[nodiscard]] double log_probability(std::uint32_t token) const;

    [[nodiscard]] const std::map<std::uint32_t, double>& listed() const { return listed_; }

 private:
    std::map<std::uint32_t, double> listed_;  // the first word about a token holds
    double log_other_ = 0;                    // of each token that is not listed
};

/// `log_weights`: one per member; minus infinity: it is not asked. At most `count` come back.
std::vector<swarm::protocol::TokenScore> mix_candidates(
    std::span<const Candidates> members, std::span<const double> log_weights, std::size_t count
);

}  // namespace stacking::stack

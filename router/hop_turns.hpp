// Whose turn it is: the next host of a path, given the one before, so that each link carries
// sessions in proportion to its flow. Interleaved, not drawn: of n picks at a sender with k links,
// each of them usable, a link has its share of n to within (1 + k) / 2 sessions.
// Invariant: a link that was passed over (its peer was full) does not catch up in a burst.
// Threading: single strand. Errors: none; nobody usable is nothing. Cost: pick O(links of sender).
// Source: weights by max-flow as in Helix (arXiv 2406.01566), interleaved as by SWARM's weighted
// round-robin (arXiv 2301.11913, 3.2); halves at the start as Webster's divisors, so that the many
// small links of a sender do not all come first; start rule as in start-time fair queuing.
#pragma once

#include "router/max_flow.hpp"

#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace router {

class HopTurns {
 public:
    /// Whether a host may be picked now; not asked about the client.
    using Usable = std::function<bool(std::size_t host)>;

    explicit HopTurns(const LayerFlow& flow);

    /// kClientHost: the path ends here. Nothing: nobody usable follows, or nothing flows here.
    [[nodiscard]] std::optional<std::size_t> pick(std::size_t from, const Usable& usable);

 private:
    struct Turn {
        std::size_t to;
        double tokens_per_s;
        double served;  // sessions so far and a half, over tokens_per_s
    };

    struct Sender {
        std::vector<Turn> turns;
        double now = 0;  // `served` at which the last pick was made
    };

    std::map<std::size_t, Sender> senders_;
};

}  // namespace router

// Picks the next host of a path after a given host, so that each link carries sessions in
// proportion to its flow. Picks are interleaved, not random: of n picks at a sender with k usable
// links, each link gets its part of n to within (1 + k) / 2 sessions.
// Invariant: a link that was passed over (its peer was full) does not catch up in a burst.
// Threading: single strand. Errors: none; without a usable host there is no pick. Cost: pick()
// O(links of the sender). Source: weights by max-flow as in Helix (arXiv 2406.01566), interleaved
// as by SWARM's weighted round-robin (arXiv 2301.11913, 3.2). Halves at the start, as in Webster's
// divisors, keep the many small links of a sender from all coming first; the start rule is that of
// start-time fair queuing.
#pragma once

#include "router/max_flow.hpp"

#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace sim::golden {

class HopTurns {
 public:
    /// Whether a host may be picked. It is not called for the client.
    using Usable = std::function<bool(std::size_t host)>;

    explicit HopTurns(const router::LayerFlow& flow);

    /// Returns kClientHost when the path ends here, and nothing when no usable host follows or no
    /// flow goes through `from`.
    [[nodiscard]] std::optional<std::size_t> pick(std::size_t from, const Usable& usable);

 private:
    struct Link {
        std::size_t to;
        double tokens_per_s;
        double served;  // (sessions so far + 1/2) / tokens_per_s
    };

    struct Sender {
        std::vector<Link> links;
        double now = 0;  // `served` of the last pick
    };

    std::map<std::size_t, Sender> senders_;
};

}  // namespace sim::golden

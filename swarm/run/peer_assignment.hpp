// Which peer serves which stage, when all are known beforehand: the fastest first, each to the
// stage that has least, then single moves to the weakest stage, and exchanges with it, as long as
// they help it. Invariant: nobody is where its memory does not reach.
// Not exact: on 300 random cases of 2 to 8 peers and 2 or 3 unequal stages at least 0.80 of the
// best throughput, 0.986 on average (tests/unit/run/peer_assignment_test.cpp).
// Units: work units per second, bytes, microbatches per second. Threading: a function.
// Cost: O(peers x stages), then O(peers^2) per improvement; both bounds are named in the source.
// Source: largest first (Csirik, Kellerer, Woeginger 1992), on machines of unequal speed.
#pragma once

#include "swarm/base/ids.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace swarm::run {

struct PeerPower {
    double units_per_s = 0;
    std::uint64_t memory_bytes = 0;  // 0: no bound
};

struct StageNeed {
    double units_per_microbatch = 0;
    std::uint64_t memory_bytes = 0;
};

struct PeerAssignment {
    std::vector<std::optional<StageIndex>> stage_of;  // by peer; none: it fits nowhere
    std::vector<double> per_s;                        // by stage, in microbatches

    [[nodiscard]] double narrowest() const;
};

PeerAssignment assign_peers(
    const std::vector<PeerPower>& peers, const std::vector<StageNeed>& stages
);

}  // namespace swarm::run

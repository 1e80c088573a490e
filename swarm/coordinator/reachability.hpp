// Knows which peers cannot reach each other, from what the peers themselves report: two are apart
// when each names the other as cut off in its last heartbeat. So a peer that lies about its links
// parts nobody, and one that freezes is not taken for one behind a router.
// It is a sub-machine: the coordinator feeds it, keeps two that are apart out of each other's
// neighbourhood, and forgets a peer that restarts, because its ports may be open now.
// Invariants: pairs are found again or forgotten after kApartFor; at most kPairsMax are kept.
// Threading: single strand. Cost: O(log pairs) per look-up; O(named x log pairs) per heartbeat that
// names somebody.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/units.hpp"

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace swarm::coordinator {

class Reachability {
 public:
    /// A pair is tried again after this time, in case a firewall has changed.
    static constexpr Duration kApartFor = std::chrono::minutes(10);
    /// Pairs: a hundred peers behind routers that all name each other.
    static constexpr std::size_t kPairsMax = 8192;

    /// Takes the peers that `from` names now; they replace those that it named before. Returns
    /// those that name it, too.
    std::vector<PeerId> note(PeerId from, std::vector<PeerId> named, TimePoint now);

    [[nodiscard]] bool are_apart(PeerId one, PeerId other, TimePoint now) const;

    /// True once for each pair: its lines for people are printed once.
    bool is_untold(PeerId one, PeerId other);

    void forget(PeerId peer);

    [[nodiscard]] std::size_t pairs() const { return pairs_.size(); }

 private:
    using Pair = std::pair<PeerId, PeerId>;

    struct Apart {
        TimePoint until;
        bool is_told = false;
    };

    static Pair pair_of(PeerId one, PeerId other) {
        return one < other ? Pair(one, other) : Pair(other, one);
    }

    std::map<PeerId, std::vector<PeerId>> named_;  // only peers that name somebody
    std::map<Pair, Apart> pairs_;
};

}  // namespace swarm::coordinator

// Decides which peers move from one stage to another, and where a newcomer goes. A rebalancer is
// one file and one test; registered in rebalancer.cpp. Used by the coordinator and by the fluid
// simulator alike.
// Invariant: at most one move out of a stage per period; never its last member (I4), nor anybody
// who still arrives; no decision depends on what a peer claims of itself: queues and rates are as
// its senders see them (I10). Memory is what it lends: whoever lies ends where it does not fit.
// Threading: single strand. Deterministic: ties go to the lower stage and slot.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/units.hpp"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace router {

using swarm::Duration;
using swarm::SlotId;
using swarm::StageIndex;
using swarm::TimePoint;

struct PeerLoad {
    SlotId slot;
    double queued = 0;              // microbatches that wait at the peer, a mean over the period
    double units_per_s = 0;         // observed; 0: nothing is known
    bool is_arriving = false;       // no member yet: it was told to come, or downloads the state
    bool is_leased = false;         // it was moved lately
    std::uint64_t lends_bytes = 0;  // memory; 0: no bound
};

struct StageLoad {
    StageLoad() = default;

    StageLoad(std::initializer_list<PeerLoad> those) : peers(those) {}

    std::vector<PeerLoad> peers;      // in slot order; then those that arrive
    double units_per_microbatch = 1;  // forward and backward
    double join_s = 0;                // until a newcomer works here: download and warm-up
    std::uint64_t needs_bytes = 0;    // memory of a peer
};

inline bool fits(const PeerLoad& peer, const StageLoad& stage) {
    return peer.lends_bytes == 0 || stage.needs_bytes <= peer.lends_bytes;
}

/// By stage index.
using StageLoads = std::vector<StageLoad>;

struct Move {
    SlotId slot;
    StageIndex from;
    StageIndex to;

    friend bool operator==(const Move&, const Move&) = default;
};

class Rebalancer {
 public:
    Rebalancer() = default;
    Rebalancer(const Rebalancer&) = delete;
    Rebalancer& operator=(const Rebalancer&) = delete;
    virtual ~Rebalancer() = default;

    /// Once per round, that is period. Each move names a member, and its stage, and leads where it
    /// fits.
    virtual std::vector<Move> rebalance(const StageLoads& loads, TimePoint now) = 0;

    /// True: also soon after a stage has lost a member, not at the end of the period only.
    [[nodiscard]] virtual bool answers_losses() const { return false; }

    /// The stage for a peer that joins. `loads` is not empty.
    [[nodiscard]] virtual StageIndex place(const StageLoads& loads) const = 0;
};

/// none, capacity, swarm-alg2; null for an unknown name.
std::unique_ptr<Rebalancer> make_rebalancer(std::string_view name);
/// "none, capacity, swarm-alg2": for error texts and --help.
std::string rebalancer_names();

}  // namespace router

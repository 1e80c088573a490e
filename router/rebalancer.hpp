// A rebalancer decides which peers move from one stage to another, and where a newcomer goes. It
// has one file and one test, and is registered in rebalancer.cpp. The coordinator and the fluid
// simulator use the same classes.
// Invariant: at most one move out of a stage per period; never its last member (I4), nor a peer
// that still arrives; no decision depends on a peer's claims about itself: queues and rates are
// those that its senders see (I10). Memory is the amount that the peer lends: a peer that lies
// about it ends in a stage that does not fit.
// Threading: single strand. Deterministic: ties go to the lower stage and slot.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/units.hpp"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
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
    double queued = 0;       // microbatches that wait at the peer, a mean over the period
    double units_per_s = 0;  // observed; 0: nothing is known
    /// The peer is no member yet: it was told to come, or downloads the state.
    bool is_arriving = false;
    bool is_leased = false;         // the peer was moved lately
    std::uint64_t lends_bytes = 0;  // memory; 0: no bound
};

struct StageLoad {
    StageLoad() = default;

    StageLoad(std::initializer_list<PeerLoad> those) : peers(those) {}

    std::vector<PeerLoad> peers;      // members in slot order, then the peers that arrive
    double units_per_microbatch = 1;  // forward and backward
    double join_s = 0;                // until a newcomer works here: download and warm-up
    std::uint64_t needs_bytes = 0;    // memory that a peer of the stage needs
};

inline bool fits(const PeerLoad& peer, const StageLoad& stage) {
    return peer.lends_bytes == 0 || stage.needs_bytes <= peer.lends_bytes;
}

/// Loads of all stages, by stage index.
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

    /// Called once per round, which is one period. Each move names a member and its stage, and
    /// leads to a stage that fits the member's memory.
    virtual std::vector<Move> rebalance(const StageLoads& loads, TimePoint now) = 0;

    /// True for a rebalancer that also acts soon after a stage has lost a member, not at the end of
    /// the period only.
    [[nodiscard]] virtual bool answers_losses() const { return false; }

    /// Returns the stage for a peer that joins. `loads` is not empty.
    [[nodiscard]] virtual StageIndex place(const StageLoads& loads) const = 0;
};

/// The name of a rebalancer that is registered.
class RebalancerName {
 public:
    /// The default is "none", with which no peer moves.
    RebalancerName() = default;
    /// nullopt: no rebalancer has this name.
    static std::optional<RebalancerName> find(std::string_view name);

    [[nodiscard]] bool is_none() const { return *this == RebalancerName(); }

    [[nodiscard]] std::string_view text() const { return text_; }

    friend bool operator==(const RebalancerName&, const RebalancerName&) = default;

 private:
    explicit RebalancerName(std::string_view registered) : text_(registered) {}

    std::string_view text_ = "none";  // text of the table in rebalancer.cpp
};

/// Makes none, capacity or swarm-alg2; null for an unknown name.
std::unique_ptr<Rebalancer> make_rebalancer(std::string_view name);
/// Makes the named rebalancer; never null.
std::unique_ptr<Rebalancer> make_rebalancer(RebalancerName name);
/// "none, capacity, swarm-alg2": for error texts and --help.
std::string rebalancer_names();

}  // namespace router

// Decides when a peer moves from one stage to another, and where a newcomer goes. A rebalancer is
// one file and one test; registered in rebalancer.cpp. Used by the coordinator and by the fluid
// simulator alike.
// Invariant: at most one move per period; never the last member of a stage; no decision depends on
// what a peer claims of itself: queues and rates are as its senders see them (I10).
// Threading: single strand. Deterministic: ties go to the lower stage and slot.
// Source: SWARM (Ryabinin et al. 2023), section 3.2 and appendix D, Algorithm 2.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/units.hpp"

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
};

/// By stage index; a stage's members in slot order.
using StageLoads = std::vector<std::vector<PeerLoad>>;

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

    /// Once per period.
    virtual std::optional<Move> rebalance(const StageLoads& loads, TimePoint now) = 0;
    /// The stage for a peer that joins. `loads` is not empty.
    [[nodiscard]] virtual StageIndex place(const StageLoads& loads) const = 0;
};

/// none, swarm-alg2; null for an unknown name.
std::unique_ptr<Rebalancer> make_rebalancer(std::string_view name);
/// "none, swarm-alg2": for error texts and --help.
std::string rebalancer_names();

}  // namespace router

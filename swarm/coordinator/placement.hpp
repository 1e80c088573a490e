// Decides where peers work. It collects the senders' views of each member, and asks the rebalancer
// once a period which peers should move, and for each newcomer where it should go. The coordinator
// carries this out (coordinator_moves.cpp). The time until a newcomer works is measured on those
// before it.
// Invariants: a peer's word about itself is not used (I10), nor about peers to which it sends
// nothing. A view of a queue ends with its period, that of a rate one period later, and both end
// with the slot of either side. A peer that moved holds a lease, during which it is not moved
// again.
// Threading: single strand. Memory: one view per slot and slot of the stage below; as many leases
// as stages per period of a lease. Cost: O(slots of the stage) per heartbeat, O(slots) every 2 s,
// O(views) per period.
#pragma once

#include "router/rebalancer.hpp"
#include "swarm/protocol/message.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/partition.hpp"
#include "swarm/run/roster.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace swarm::coordinator {

/// Seconds from the end of a download until work comes at full rate: admission and the first
/// measurements.
inline constexpr double kWarmUp_s = 5;

/// Assumed rate of a line between homes, until the first download has been measured.
inline constexpr double kAssumedBytesPerS = 12.5e6;

/// Time from a loss to the next round. A fenced peer may be back before that; if it is not, its
/// stage should not wait for the end of the period.
inline constexpr Duration kRoundAfterLoss = std::chrono::seconds(5);

/// Time for which a peer that moved stays: until its rate there is known and the queues have
/// followed.
constexpr Duration lease_of(Duration period) {
    return 3 * period;
}

class Placement {
 public:
    Placement(const run::RunConfig& config, const std::vector<run::StageLayout>& layouts);

    /// Takes a member's views of the peers of the next stage, in slot order; ignores all others.
    void note(
        const run::Roster& roster, SlotId sender, const std::vector<protocol::ObservedRate>& rates
    );

    /// True when the coordinator, which is the sender of stage 0, should give its own views again.
    /// It does so as often as a peer's heartbeats do.
    [[nodiscard]] bool wants_own_rates(TimePoint now) const {
        return rebalancer_ && now >= own_look_due_;
    }

    void note_own(
        const run::Roster& roster, const std::vector<protocol::ObservedRate>& rates, TimePoint now
    );

    /// Memory that a peer lends; 0: no bound.
    using Lent = std::function<std::uint64_t(PeerId)>;

    /// The moves of this period once it is over, at most one out of a stage. Without `lent` every
    /// peer fits everywhere.
    std::vector<router::Move> decide(
        const run::Roster& roster, TimePoint now, const Lent& lent = {}
    );

    /// kNever when no peer ever moves.
    [[nodiscard]] TimePoint next_deadline() const { return std::min(due_, early_due_); }

    /// The stage for a newcomer; nullopt when the run has no rebalancer. A peer that has a slot but
    /// is not there does not count.
    [[nodiscard]] std::optional<StageIndex> place(
        const run::Roster& roster, TimePoint now, const std::function<bool(PeerId)>& is_there
    ) const;

 private:
    /// One sender's view of one slot.
    struct View {
        SlotId seen;
        double queued_sum = 0;  // since the period began
        std::uint32_t count = 0;
        double units_per_s = 0;         // the highest rate of the period
        double units_per_s_before = 0;  // the highest of the period before
    };

    /// Views in slot order, in one piece of memory: a thousand senders each report dozens every two
    /// seconds.
    using Views = std::vector<View>;

    struct Lease {
        StageIndex to;
        TimePoint until;
        double units_per_s = 0;  // rate of the peer in the stage that it left
    };

    struct Arrival {
        StageIndex stage;
        TimePoint since;
    };

    void note(
        SlotId sender,
        std::span<const SlotId> stage,
        const std::vector<protocol::ObservedRate>& rates
    );
    void watch_arrivals(const run::Roster& roster, TimePoint now);
    void watch_losses(const run::Roster& roster, TimePoint now);
    void begin_period(const run::Roster& roster, TimePoint now);
    [[nodiscard]] router::PeerLoad load_of(const protocol::SlotInfo& info, TimePoint now) const;
    [[nodiscard]] router::StageLoads loads(
        const run::Roster& roster, TimePoint now, const std::function<bool(PeerId)>& is_there
    ) const;

    router::StageLoads empty_stages_;  // costs of a microbatch and a download in each stage
    Duration every_;
    std::unique_ptr<router::Rebalancer> rebalancer_;
    std::map<SlotId, Views> views_;  // by sender; also views of slots that are gone
    std::map<PeerId, Lease> leases_;
    std::map<PeerId, Arrival> arrivals_;
    double slowness_ = 1;                 // measured over assumed time of a download
    std::vector<std::uint32_t> members_;  // per stage at the last look, without movers
    TimePoint due_ = kNever;
    TimePoint early_due_ = kNever;  // set after a loss
    TimePoint own_look_due_ = kAtOnce;
};

}  // namespace swarm::coordinator

// Where peers work: collects what senders see of each member, and asks the run's rebalancer once a
// period who should move, and for each newcomer where it should go. The coordinator carries it out
// (coordinator_moves.cpp).
// Invariants: a peer's own word about itself is not used (I10), nor is what it says of peers that
// it sends nothing to; what is told of queues ends with its period, of rates one period later, both
// with the slot of either side. Who moved holds a lease: it is not moved again while it lasts.
// How long it takes until a newcomer works is measured on those before it.
// Threading: single strand. Memory: one view per slot and slot of the stage below; as many leases
// as stages in each period of one.
// Cost: O(slots of the stage) per heartbeat, O(slots) every 2 s, O(views) per period.
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

namespace swarm::run {

/// From the end of a download until work comes at full rate: admission, the first measurements.
inline constexpr double kWarmUp_s = 5;

/// Of a line between homes, until the first download has shown better.
inline constexpr double kAssumedBytesPerS = 12.5e6;

/// A peer that was fenced may be back at once; if it is not, its stage should not wait for the end
/// of the period.
inline constexpr Duration kRoundAfterLoss = std::chrono::seconds(5);

/// How long who moved stays: until its rate there is known and the queues have followed.
constexpr Duration lease_of(Duration period) {
    return 3 * period;
}

class Placement {
 public:
    Placement(const RunConfig& config, const std::vector<StageLayout>& layouts);

    /// What a member sees of the peers of the next stage, in slot order; anything else is ignored.
    void note(
        const Roster& roster, SlotId sender, const std::vector<protocol::ObservedRate>& rates
    );

    /// The coordinator is the sender of stage 0: it looks as often as a peer's heartbeats tell.
    [[nodiscard]] bool wants_own_rates(TimePoint now) const {
        return rebalancer_ && now >= own_look_due_;
    }

    void note_own(
        const Roster& roster, const std::vector<protocol::ObservedRate>& rates, TimePoint now
    );

    /// Memory of a peer, 0: no bound.
    using Lent = std::function<std::uint64_t(PeerId)>;

    /// The moves of this period, when it is over; at most one out of a stage. `lent`: without it
    /// every peer fits everywhere.
    std::vector<router::Move> decide(const Roster& roster, TimePoint now, const Lent& lent = {});

    /// kNever when nothing ever moves.
    [[nodiscard]] TimePoint next_deadline() const { return std::min(due_, early_due_); }

    /// For a newcomer; nothing: any rule will do, this run's rebalancer has none. Who is not there,
    /// though it has a slot, does not count.
    [[nodiscard]] std::optional<StageIndex> place(
        const Roster& roster, TimePoint now, const std::function<bool(PeerId)>& is_there
    ) const;

 private:
    /// One sender's view of one slot.
    struct View {
        SlotId seen;
        double queued_sum = 0;  // since the period began
        std::uint32_t count = 0;
        double units_per_s = 0;         // the highest of the period, ...
        double units_per_s_before = 0;  // ... and of the one before: half a minute may show less
    };

    /// In slot order and in one piece: a thousand senders each tell of dozens every two seconds.
    using Views = std::vector<View>;

    struct Lease {
        StageIndex to;
        TimePoint until;
        double units_per_s = 0;  // as it was seen where it came from
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
    void watch_arrivals(const Roster& roster, TimePoint now);
    void watch_losses(const Roster& roster, TimePoint now);
    void begin_period(const Roster& roster, TimePoint now);
    [[nodiscard]] router::PeerLoad load_of(const protocol::SlotInfo& info, TimePoint now) const;
    [[nodiscard]] router::StageLoads loads(
        const Roster& roster, TimePoint now, const std::function<bool(PeerId)>& is_there
    ) const;

    router::StageLoads empty_stages_;  // what a microbatch and a download cost there
    Duration every_;
    std::unique_ptr<router::Rebalancer> rebalancer_;
    std::map<SlotId, Views> views_;  // by the sender; of slots that are gone, too
    std::map<PeerId, Lease> leases_;
    std::map<PeerId, Arrival> arrivals_;
    double slowness_ = 1;                 // of downloads, against what was assumed
    std::vector<std::uint32_t> members_;  // per stage, when last looked, less those told to go
    TimePoint due_ = kNever;
    TimePoint early_due_ = kNever;  // after a loss
    TimePoint own_look_due_ = kAtOnce;
};

}  // namespace swarm::run

// Which slot's accumulator holds gradient (stage, microbatch) of the open step, and what is still
// under way. Soft state: the truth lies in the peers' id sets; recalls bring the two together.
// Invariants: one owner at most per (stage, microbatch), so the lists of one REDUCE cover each
// exactly once (P1); an attempt is recalled at most once (P9).
// Cost: O(stages + log microbatches) per call on one microbatch; O(stages x microbatches) per
// recall and reduce.
// Source: step protocol, sections 2 and 4.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/units.hpp"
#include "swarm/protocol/message.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace swarm::run {

class StepLedger {
 public:
    StepLedger(std::uint32_t stages, std::uint32_t microbatches);

    struct Launch {
        MicrobatchId microbatch;
        StageMask mask;
        bool replay = false;
    };

    /// What to launch next: replays first while fewer than `replays_max` are in flight.
    [[nodiscard]] std::optional<Launch> next_launch(std::size_t replays_max) const;
    void launched(MicrobatchId id, Attempt attempt, TimePoint now);
    /// Whom the coordinator itself offered the attempt to.
    void offered(MicrobatchId id, SlotId first_hop);

    [[nodiscard]] bool is_current(MicrobatchId id, Attempt attempt) const;

    [[nodiscard]] StageMask mask(MicrobatchId id) const { return rows_[id.value].mask; }

    /// PATH of the current attempt, all of whose slots are acceptable. Returns its wave time.
    Duration pathed(MicrobatchId id, const std::vector<SlotId>& path, double loss, TimePoint now);
    /// PASSED of the last leg of the current attempt. False when it had left the flight before.
    bool left_flight(MicrobatchId id);

    /// The current attempt is in doubt: recall it. No effect while it is not launched.
    void need(MicrobatchId id);
    void need_all();
    /// Everything that depends on the slot: what it owns, offers to it, paths through it.
    void need_after_fence(SlotId slot);

    /// RECALL(epoch) goes out: R = need; owners of R are forgotten until HELD names them.
    std::vector<MicrobatchId> begin_recall(Epoch epoch);
    /// Returns another slot of the stage that claims one of the same ids (only after a restart).
    std::optional<SlotId> held(SlotId slot, StageIndex stage, const protocol::Held& held);
    /// All members answered: masks of R are what nobody holds.
    void end_recall();

    [[nodiscard]] bool needs_recall() const { return !need_.empty(); }

    [[nodiscard]] bool all_pathed() const { return unpathed_ == 0; }

    [[nodiscard]] std::vector<MicrobatchId> ids_of(SlotId slot, StageIndex stage) const;

    [[nodiscard]] std::size_t in_flight() const { return in_flight_; }

    /// Launch time of the oldest attempt without PATH that is not in need; kNever when none.
    [[nodiscard]] TimePoint oldest_launch() const {
        return awaited_.empty() ? kNever : awaited_.begin()->first;
    }

    /// Attempts without PATH launched at or before `limit`.
    [[nodiscard]] std::vector<MicrobatchId> launched_before(TimePoint limit) const;

    [[nodiscard]] double mean_loss() const;

    [[nodiscard]] std::uint32_t replayed() const { return replayed_; }

 private:
    struct Row {
        Attempt attempt{};
        StageMask mask;
        bool launched = false;  // the attempt is under way or done; else it waits for a launch
        bool pathed = false;
        bool in_flight = false;
        bool tried = false;  // some attempt was launched before: the next one is a replay
        double loss = 0;
        TimePoint launched_at = kNever;
        TimePoint awaited_since = kNever;  // as in awaited_
        SlotId first_hop;
        std::vector<SlotId> path;
        std::vector<SlotId> owners;  // by stage; {} where nobody
    };

    void leave_flight(Row& row);
    void recall(MicrobatchId id);
    void set_pathed(Row& row, bool pathed);
    /// Call after every change of what the sets below follow from.
    void index(MicrobatchId id);

    std::uint32_t stages_;
    std::vector<Row> rows_;
    std::set<MicrobatchId> need_;
    std::set<MicrobatchId> launches_;  // not launched yet, and not in need
    std::set<MicrobatchId> replays_;   // the same, of those that were tried before
    std::set<std::pair<TimePoint, MicrobatchId>> awaited_;  // launched, no PATH, not in need
    std::size_t unpathed_ = 0;
    std::vector<MicrobatchId> recalled_;
    std::size_t in_flight_ = 0;
    std::size_t replays_in_flight_ = 0;
    std::uint32_t replayed_ = 0;
};

}  // namespace swarm::run

// The ledger of the open step: which slot's accumulator holds gradient (stage, microbatch), and
// which attempts are still under way. It is soft state: the truth lies in the peers' id sets, and
// recalls bring the two together.
// Invariants: a (stage, microbatch) has one owner at most, so the lists of one REDUCE cover each
// exactly once (P1); an attempt is recalled at most once (P9).
// Threading: single strand. Cost: O(stages + log microbatches) per call on one microbatch;
// O(stages x microbatches) per recall and reduce.
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

namespace swarm::coordinator {

class StepLedger {
 public:
    /// `training`: the stages that add gradients (run::training_stages()). At least one of
    /// `stages` does.
    StepLedger(std::uint32_t stages, StageMask training, std::uint32_t microbatches);

    struct Launch {
        MicrobatchId microbatch;
        StageMask mask;
        bool replay = false;
    };

    /// The next launch: a replay while fewer than `replays_max` replays are in flight.
    [[nodiscard]] std::optional<Launch> next_launch(std::size_t replays_max) const;
    void launched(MicrobatchId id, Attempt attempt, TimePoint now);
    /// The coordinator has offered the attempt to this slot of stage 0.
    void offered(MicrobatchId id, SlotId first_hop);

    [[nodiscard]] bool is_current(MicrobatchId id, Attempt attempt) const;

    [[nodiscard]] StageMask mask(MicrobatchId id) const { return rows_[id.value].mask; }

    /// PATH of the current attempt has come, and all its slots are acceptable. Returns the time
    /// since the launch.
    Duration pathed(MicrobatchId id, const std::vector<SlotId>& path, double loss, TimePoint now);
    /// PASSED of the last leg of the current attempt has come. False when the attempt was not in
    /// flight any more.
    bool left_flight(MicrobatchId id);

    /// The current attempt is in doubt, so the next recall asks for it. Does nothing for an attempt
    /// that is not launched.
    void need(MicrobatchId id);
    void need_all();
    /// Needs every microbatch that depends on the slot: those that it owns, that were offered to
    /// it, and whose path leads through it.
    void need_after_fence(SlotId slot);

    /// The path of the current attempt has come, or every stage holds the microbatch already.
    [[nodiscard]] bool is_pathed(MicrobatchId id) const { return rows_[id.value].pathed; }

    /// The path that was reported for the current attempt; empty while there is none.
    [[nodiscard]] const std::vector<SlotId>& path_of(MicrobatchId id) const {
        return rows_[id.value].path;
    }

    /// The slot at the end of that path.
    [[nodiscard]] std::optional<SlotId> tail_of(MicrobatchId id) const;

    /// RECALL(epoch) goes out for R, the microbatches in need. Their owners are forgotten until
    /// HELD names them.
    std::vector<MicrobatchId> begin_recall(Epoch epoch);
    /// Takes an answer to the recall.
    void held(SlotId slot, StageIndex stage, const protocol::Held& held);
    /// Returns the slot that is in most contradictions with other answers, if there are any; of
    /// equals one to which no path had led, or the newer one.
    [[nodiscard]] std::optional<SlotId> contradicted() const;
    /// True when the slot has answered that it holds the microbatch.
    [[nodiscard]] bool is_claimed(MicrobatchId id, SlotId by) const;
    /// Forgets the answer of a slot.
    void disclaim(SlotId slot);
    /// All members have answered. The mask of each microbatch of R becomes the training stages that
    /// nobody holds.
    void end_recall();

    [[nodiscard]] bool needs_recall() const { return !need_.empty(); }

    [[nodiscard]] bool all_pathed() const { return unpathed_ == 0; }

    [[nodiscard]] std::vector<MicrobatchId> ids_of(SlotId slot, StageIndex stage) const;

    /// The slots of the stage above to which paths lead from this slot.
    [[nodiscard]] std::set<SlotId> next_on_paths(SlotId from, StageIndex stage) const;

    [[nodiscard]] std::size_t in_flight() const { return in_flight_; }

    /// Launch time of the oldest attempt that has no PATH and is not in need; kNever when there is
    /// none.
    [[nodiscard]] TimePoint oldest_launch() const {
        return awaited_.empty() ? kNever : awaited_.begin()->first;
    }

    /// Attempts without PATH that were launched at or before `limit`.
    [[nodiscard]] std::vector<MicrobatchId> launched_before(TimePoint limit) const;

    [[nodiscard]] double mean_loss() const;

    [[nodiscard]] std::uint32_t replayed() const { return replayed_; }

 private:
    /// An answer to a recall says so.
    struct Claim {
        StageIndex stage;
        SlotId slot;
        std::optional<double> loss;  // from a tail
    };

    struct Row {
        Attempt attempt{};
        StageMask mask;
        bool launched = false;  // the attempt is under way or done, and does not wait for a launch
        bool pathed = false;
        bool in_flight = false;
        bool tried = false;  // an attempt was launched before, so the next one is a replay
        double loss = 0;
        TimePoint launched_at = kNever;
        TimePoint awaited_since = kNever;  // the time in awaited_
        SlotId first_hop;
        std::vector<SlotId> path;
        std::vector<SlotId> owners;  // by stage; {} for none
        std::vector<SlotId> before;  // the owners before the recall that is under way
        std::vector<Claim> claims;   // in the answers to it
    };

    void leave_flight(Row& row);
    void recall(MicrobatchId id);
    void mark_pathed(Row& row);
    void mark_unpathed(Row& row);
    /// Brings the sets below up to date. Call it after every change of a row or of need_.
    void index(MicrobatchId id);

    std::uint32_t stages_;
    StageMask training_;
    std::vector<Row> rows_;
    std::set<MicrobatchId> need_;
    std::set<MicrobatchId> launches_;  // microbatches that wait for their first launch, not in need
    std::set<MicrobatchId> replays_;   // microbatches that wait for a further launch, not in need
    std::set<std::pair<TimePoint, MicrobatchId>> awaited_;  // launched, without PATH, not in need
    std::size_t unpathed_ = 0;
    std::vector<MicrobatchId> recalled_;
    std::size_t in_flight_ = 0;
    std::size_t replays_in_flight_ = 0;
    std::uint32_t replayed_ = 0;
};

}  // namespace swarm::coordinator

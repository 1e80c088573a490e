// The open step at the coordinator: launch, recall, reduce, decide (step protocol, section 4).
// Invariants: RECALL(e+1) leaves only when every member has answered e or was fenced. REDUCE lists
// cover each (stage, microbatch) once. A decision is made when all unfenced members of every stage
// hold the result of one epoch and are at least min_holders (R4), or it skips a step that nobody
// can compute. Fences fall on silence and lies, never on slowness, and never on the last live
// member of a stage while nobody else has its state; that member is waited for.
// Threading: single strand. Errors: none; a wrong message is ignored, or its sender is fenced.
#pragma once

#include "swarm/coordinator/blame/conduct.hpp"
#include "swarm/coordinator/blame/forked_paths.hpp"
#include "swarm/coordinator/blame/wait_graph.hpp"
#include "swarm/coordinator/commit_log.hpp"
#include "swarm/coordinator/dropped_work.hpp"
#include "swarm/coordinator/launcher.hpp"
#include "swarm/coordinator/recent_times.hpp"
#include "swarm/coordinator/run_context.hpp"
#include "swarm/coordinator/step_ledger.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace swarm::coordinator {

/// How a step begins: with the launch of microbatches, or with a recall that asks the members for
/// the sums that they may hold after a restart of the coordinator.
enum class StartWith : std::uint8_t { Launch, Recall };

/// Whether a slot that is admitted keeps the sums of this step that it holds.
enum class HeldSums : std::uint8_t { Keep, Forget };

/// Effect of a fence on the last member of a stage, whose state nobody else has. Keep: the member
/// may come back, so it is waited for. Fence: it is known to be gone, or must begin anew.
enum class IfLast : std::uint8_t { Keep, Fence };

class StepMachine {
 public:
    struct Timing {
        Duration wave_min = std::chrono::seconds(5);  // per stage, before p95 is known
        Duration recall_min = std::chrono::seconds(3);
        Duration reduce_min = std::chrono::seconds(8);
        double slowest_line_bytes_per_s = 1.25e6;  // 10 Mb/s, so large stages may take longer
        Duration holder_grace_min = std::chrono::seconds(4);
        Duration restart_grace = std::chrono::seconds(3);
    };

    enum class Phase { Waiting, Running, Recalling, Reducing, Deciding, Done };

    StepMachine(RunContext& context, Launcher& launcher, Timing timing);

    /// Starts the step of context.version with the members of the roster.
    void open(StartWith start, node::Turn turn);

    /// Launches nothing of this step until release(), or until another step is opened.
    void hold() { held_ = true; }

    void release() { held_ = false; }

    /// Launches no microbatch of this step until go_on(), or until another step is opened. Joiners
    /// are admitted meanwhile.
    void wait_before_launch() { evaluating_ = true; }

    void go_on() { evaluating_ = false; }

    /// The run is complete, and no step follows.
    void finish() { phase_ = Phase::Done; }

    /// Admits a peer whose state is proven to be the current version. It gets its slot with the
    /// next recall. In mode sparse its sums are always forgotten.
    void admit(protocol::SlotInfo joiner, HeldSums held_sums, TimePoint now);
    /// Ends the slot. False when it was kept, because it is the last member of its stage. A joiner
    /// with the same state makes it replaceable; then only its sums are lost.
    bool fence(SlotId slot, const std::string& reason, IfLast if_last, node::Turn turn);

    /// The peer was caught with a lie, so it gets no slot for a while.
    void keep_away(PeerId peer, TimePoint now) { conduct_.caught(peer, now); }

    /// True when nothing depends on the slot.
    [[nodiscard]] bool may_leave(SlotId slot) const;

    void on(SlotId from, const protocol::Path& path, node::Turn turn);
    void on(SlotId from, const protocol::Fail& fail, node::Turn turn);
    void on(SlotId from, const protocol::Held& held, node::Turn turn);

    /// The member has the version of this step, so it takes the decisions of this step from now on.
    void applied(SlotId from) { applying_.erase(from); }

    void on(SlotId from, const protocol::Reduced& reduced, node::Turn turn);
    void on(SlotId from, const protocol::Mismatch& mismatch, node::Turn turn);
    void on(SlotId from, const protocol::Stuck& stuck, node::Turn turn);
    void on(SlotId from, const protocol::Passed& passed, node::Turn turn);
    void on(SlotId from, const protocol::Refused& refused, node::Turn turn);

    void wake(node::Turn turn);
    /// Enters every phase that has become possible. Call it once at the end of each turn.
    void advance(node::Turn turn);
    [[nodiscard]] TimePoint next_deadline() const;
    /// Call it after a stall of this process, so that no peer is judged by that time.
    void pardon(TimePoint now);

    /// Requires that phase() is Deciding.
    [[nodiscard]] const CommitRecord& decision() const { return *decision_; }

    [[nodiscard]] Phase phase() const { return phase_; }

    [[nodiscard]] Epoch epoch() const { return epoch_; }

    [[nodiscard]] const StepLedger& ledger() const { return ledger_; }

    [[nodiscard]] std::uint32_t fenced() const { return fenced_; }

    /// Why the step is to be skipped; nullopt while it may be computed.
    [[nodiscard]] const std::optional<std::string>& skip_reason() const { return skip_reason_; }

    /// True when all microbatches are computed, but a stage has fewer members than min_holders.
    [[nodiscard]] bool waits_for_holders() const { return waits_for_holders_; }

    /// Microbatches in the results of the decision; the smallest number of any stage.
    [[nodiscard]] std::uint32_t counted() const { return counted_; }

    /// Bytes that the holders report. Reports show them; no decision reads them.
    [[nodiscard]] std::uint64_t wire_bytes() const;

    /// By slot: the ids of the lists that the decision used.
    [[nodiscard]] const std::map<SlotId, std::vector<MicrobatchId>>& lists() const {
        return lists_;
    }

    /// True in mode sparse when the slot has trained since the last exchange; that work would be
    /// lost with it.
    [[nodiscard]] bool owes_share(SlotId slot) const { return trained_.contains(slot); }

 private:
    static constexpr int kFruitlessMax = 6;  // the limit of a wave grows to 64 times the usual one

    /// Reduces in a row that a member may fail. One failure may come from a fence that it has not
    /// heard of.
    static constexpr std::uint32_t kFailedReducesMax = 2;
    static constexpr std::uint32_t kFailsMax = 16;  // about live members, of a slot and step

    struct Joiner {
        protocol::SlotInfo info;
        HeldSums held_sums = HeldSums::Forget;
    };

    [[nodiscard]] bool every_stage_has_member() const;
    [[nodiscard]] bool is_acceptable(const protocol::Path& path) const;
    [[nodiscard]] bool has_holders_everywhere() const;
    /// True in a step of mode sparse.
    [[nodiscard]] bool replicas_train_alone() const;
    [[nodiscard]] std::uint32_t microbatches_of_step() const;
    /// True in an exchange, which has no microbatches.
    [[nodiscard]] bool replicas_exchange() const;
    /// The slots of the group that give a share, and the microbatches in each share.
    [[nodiscard]] std::vector<protocol::Trained> shares_of(const std::vector<SlotId>& group) const;
    /// Reports that the slot's work since the last exchange is in no share.
    void lose_share(const protocol::SlotInfo& info, node::Turn turn);
    void note_trained();
    [[nodiscard]] std::uint32_t count_results() const;
    [[nodiscard]] bool is_complete(
        const protocol::Reduced& reduced, StageIndex stage, std::size_t listed
    ) const;
    [[nodiscard]] std::vector<double> squares_of(StageIndex stage) const;
    [[nodiscard]] std::optional<SlotId> find_minority(StageIndex stage) const;
    [[nodiscard]] bool are_most_of_a_stage(const std::set<SlotId>& slots) const;
    void blame_for_paths(SlotId from, const std::vector<MicrobatchId>& never_came, node::Turn turn);
    [[nodiscard]] Duration wave_limit() const;
    [[nodiscard]] Duration reduce_patience() const;
    [[nodiscard]] bool has_replica(const protocol::SlotInfo& info) const;
    void note_dropped(SlotId from, const protocol::Fail& fail, node::Turn turn);
    void try_without(SlotId slot, node::Turn turn);
    [[nodiscard]] bool has_members_everywhere(std::size_t at_least) const;
    void reduce_when_enough(node::Turn turn);
    void decide_skip();

    void start_when_complete(node::Turn turn);
    void run(node::Turn turn);
    void launch(node::Turn turn);
    void begin_recall(node::Turn turn);
    void admit_joiners(node::Turn turn);
    void end_recall_when_answered(node::Turn turn);
    void begin_reduce(node::Turn turn);
    void decide_when_held();
    void abort_reduce(const char* reason, node::Turn turn);
    /// For a member that said or withheld something, and was not just silent.
    void fence_caught(SlotId slot, const std::string& reason, IfLast if_last, node::Turn turn);
    /// A path of an attempt that had one already.
    void note_second_path(SlotId from, const protocol::Path& path, node::Turn turn);
    /// All members have answered the recall: of two that hold the microbatch because of a fork, one
    /// begins anew.
    void settle(MicrobatchId id, const ForkedPaths::Fork& fork, node::Turn turn);
    /// The peer gets a new slot without sums at the next recall. It did nothing wrong.
    void begin_anew(SlotId slot, node::Turn turn);
    void give_up_overdue(node::Turn turn);
    void expire_recall(node::Turn turn);
    void expire_reduce(node::Turn turn);
    void blame_silent_members(node::Turn turn);
    void expire_grace(node::Turn turn);

    RunContext& context_;
    Launcher& launcher_;
    Timing timing_;
    Phase phase_ = Phase::Waiting;
    StageMask training_;  // the stages that add gradients
    StepLedger ledger_;
    Epoch epoch_;
    std::map<SlotId, Epoch> admitted_;  // slots of this step; all others are there from its start
    std::vector<Joiner> joiners_;
    std::set<PeerId> unreachable_;  // peers that their replicas could not reach in this step
    Conduct conduct_;
    ForkedPaths forks_;
    std::map<MicrobatchId, ForkedPaths::Fork> settling_;  // the recall asks for these
    /// Reduces that failed because of a peer since it was last a holder. A new slot clears nothing.
    std::map<PeerId, std::uint32_t> failed_reduces_;
    std::map<SlotId, std::uint32_t> fails_;  // FAILs of this step about live members
    std::set<SlotId> awaited_;     // slots that owe HELD
    std::set<SlotId> applying_;    // slots that owe APPLIED of the commit before this step
    std::set<SlotId> void_slots_;  // slots whose sums the recall forgets
    std::map<SlotId, std::vector<MicrobatchId>> lists_;
    /// Mode sparse: microbatches since the last exchange, for slots that have any. This is soft
    /// state: after a restart of the coordinator a peer gets a new slot and begins its round anew.
    std::map<SlotId, std::uint64_t> trained_;
    bool exchange_aborted_ = false;  // the next REDUCE of an exchange needs a new epoch
    std::map<SlotId, protocol::Reduced> holders_;
    std::map<StageIndex, TimePoint> first_holder_at_;
    WaitGraph waits_;
    std::optional<CommitRecord> decision_;
    TimePoint opened_at_{};
    TimePoint deadline_ = kNever;  // deadline of the recall or the reduce
    bool paused_ = false;
    bool held_ = false;
    bool evaluating_ = false;  // the version is judged before anything is launched on it
    bool first_step_ = true;
    std::uint32_t fenced_ = 0;
    std::uint32_t counted_ = 0;
    DroppedWork dropped_;
    std::optional<std::string> skip_reason_;
    bool waits_for_holders_ = false;
    RecentTimes waves_;
    int fruitless_ = 0;  // times that waves were given up since the last one came through
    RecentTimes reduces_;
};

}  // namespace swarm::coordinator

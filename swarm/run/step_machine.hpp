// The open step at the coordinator: launch, recall, reduce, decide (step protocol, section 4).
// Invariants: RECALL(e+1) leaves only when every member answered e or was fenced; REDUCE lists
// cover each (stage, microbatch) once; a decision is made only when every stage's unfenced members
// all hold the result of one epoch, and are at least min_holders (R4), or to skip a step that
// nobody can compute. Fences fall on silence and lies, never on slowness, and never on the last
// live member of a stage (it is waited for) while nobody else has its state.
// Threading: single strand. Errors: none; what a peer says wrongly is ignored or fenced.
#pragma once

#include "swarm/run/commit_log.hpp"
#include "swarm/run/dropped_work.hpp"
#include "swarm/run/launcher.hpp"
#include "swarm/run/recent_times.hpp"
#include "swarm/run/run_context.hpp"
#include "swarm/run/step_ledger.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace swarm::run {

class StepMachine {
 public:
    struct Timing {
        Duration wave_min = std::chrono::seconds(5);  // of each stage, before p95 is known
        Duration recall_min = std::chrono::seconds(3);
        Duration reduce_min = std::chrono::seconds(10);
        double slowest_line_bytes_per_s = 1.25e6;  // 10 Mb/s: large stages reduce for longer
        Duration holder_grace_min = std::chrono::seconds(4);
        Duration restart_grace = std::chrono::seconds(3);
    };

    enum class Phase { Waiting, Running, Recalling, Reducing, Deciding, Done };

    StepMachine(RunContext& context, Launcher& launcher, Timing timing);

    /// Starts the step of context.version with the members of the roster. After a restart of the
    /// coordinator (`recall_all`) their sums are asked for before anything is launched.
    void open(bool recall_all, node::Turn turn);

    /// Nothing of this step is launched until it is released, or another one is opened.
    void hold() { held_ = true; }

    void release() { held_ = false; }

    /// No step follows: the run is complete.
    void finish() { phase_ = Phase::Done; }

    /// A peer whose state is proven to be the current version; it gets its slot with the next
    /// recall. `empty`: forget what it holds of this step.
    void admit(protocol::SlotInfo joiner, bool empty);
    /// Ends the slot. False: it is the last of its stage and only silent, so it is waited for,
    /// unless a joiner has the same state: then only the sums are lost.
    bool fence(SlotId slot, const std::string& reason, bool is_gone, node::Turn turn);
    /// It may go when nothing depends on it.
    [[nodiscard]] bool may_leave(SlotId slot) const;

    void on(SlotId from, const protocol::Path& path, node::Turn turn);
    void on(SlotId from, const protocol::Fail& fail, node::Turn turn);
    void on(SlotId from, const protocol::Held& held, node::Turn turn);

    /// It has the version of this step, and takes its decisions from now on.
    void applied(SlotId from) { applying_.erase(from); }

    void on(SlotId from, const protocol::Reduced& reduced, node::Turn turn);
    void on(SlotId from, const protocol::Mismatch& mismatch, node::Turn turn);
    void on(SlotId from, const protocol::Stuck& stuck, node::Turn turn);
    void on(SlotId from, const protocol::Passed& passed, node::Turn turn);
    void on(SlotId from, const protocol::Refused& refused, node::Turn turn);

    void wake(node::Turn turn);
    /// Takes every step that has become possible. Call once at the end of each turn.
    void advance(node::Turn turn);
    [[nodiscard]] TimePoint next_deadline() const;
    /// After a stall of this process: nobody is judged by waits that it slept through.
    void pardon(TimePoint now);

    /// Set while phase() is Deciding.
    [[nodiscard]] const CommitRecord& decision() const { return *decision_; }

    [[nodiscard]] Phase phase() const { return phase_; }

    [[nodiscard]] Epoch epoch() const { return epoch_; }

    [[nodiscard]] const StepLedger& ledger() const { return ledger_; }

    [[nodiscard]] std::uint32_t fenced() const { return fenced_; }

    /// Why the step is to be skipped; nothing while it may be computed.
    [[nodiscard]] const std::optional<std::string>& skip_reason() const { return skip_reason_; }

    /// All microbatches are computed, but a stage has fewer members than min_holders.
    [[nodiscard]] bool waits_for_holders() const { return waits_for_holders_; }

    /// Microbatches in the results of the decision, in the stage that has fewest.
    [[nodiscard]] std::uint32_t counted() const { return counted_; }

    /// As the holders report it: for people, nothing is decided by it.
    [[nodiscard]] std::uint64_t wire_bytes() const;

    /// (slot, ids counted) of the lists that the decision used.
    [[nodiscard]] const std::map<SlotId, std::vector<MicrobatchId>>& lists() const {
        return lists_;
    }

    /// In mode sparse: it has trained since the last exchange, which would be lost with it.
    [[nodiscard]] bool owes_share(SlotId slot) const { return trained_.contains(slot); }

 private:
    static constexpr int kFruitlessMax = 6;  // the limit of a wave grows to 64 times what is usual

    struct Joiner {
        protocol::SlotInfo info;
        bool empty = true;
    };

    struct Accused {
        std::size_t others_before = 0;
        std::set<SlotId> by;
        std::set<SlotId> by_tied;  // of the stage with the other use of a tied matrix

        /// By more of its replicas, or as many and earlier: who slept accuses when it wakes. The
        /// other stage counts where no replicas do: its members wait for whoever waits here.
        [[nodiscard]] bool more_than(const Accused& other) const {
            const std::pair own(by.size(), by_tied.size());
            const std::pair others(other.by.size(), other.by_tied.size());
            return own != others ? own > others : others_before < other.others_before;
        }
    };

    [[nodiscard]] bool every_stage_has_member() const;
    [[nodiscard]] bool is_acceptable(const protocol::Path& path) const;
    [[nodiscard]] bool has_holders_everywhere() const;
    /// In a step of mode sparse.
    [[nodiscard]] bool replicas_train_alone() const;
    /// In a turn without microbatches.
    [[nodiscard]] bool replicas_exchange() const;
    /// Who of the group gives a share, and how many microbatches it is of.
    [[nodiscard]] std::vector<protocol::Trained> shares_of(const std::vector<SlotId>& group) const;
    /// What it has trained on since the last exchange is in no share.
    void lose_share(const protocol::SlotInfo& of, node::Turn turn);
    void note_trained();
    [[nodiscard]] std::uint32_t count_results() const;
    [[nodiscard]] bool is_complete(
        const protocol::Reduced& reduced, StageIndex stage, std::size_t listed
    ) const;
    [[nodiscard]] std::vector<double> squares_of(StageIndex stage) const;
    [[nodiscard]] std::optional<SlotId> find_minority(StageIndex stage) const;
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
    void give_up_overdue(node::Turn turn);
    void expire_recall(node::Turn turn);
    void expire_reduce(node::Turn turn);
    void expire_grace(node::Turn turn);

    RunContext& context_;
    Launcher& launcher_;
    Timing timing_;
    Phase phase_ = Phase::Waiting;
    StepLedger ledger_;
    Epoch epoch_;
    std::map<SlotId, Epoch> admitted_;  // this step; the others are there from its start
    std::vector<Joiner> joiners_;
    std::set<PeerId> unreachable_;  // by their replicas, in this step
    std::set<SlotId> awaited_;      // who owes HELD
    std::set<SlotId> applying_;     // who owes APPLIED of the commit that began this step
    std::map<SlotId, bool> void_slots_;
    std::map<SlotId, std::vector<MicrobatchId>> lists_;
    /// Mode sparse: microbatches since the last exchange. Who has none is not in here. Soft state:
    /// who comes to another coordinator gets a new slot, in which it begins its round anew.
    std::map<SlotId, std::uint64_t> trained_;
    bool exchange_aborted_ = false;  // its next REDUCE needs an epoch of its own
    std::map<SlotId, protocol::Reduced> holders_;
    std::map<StageIndex, TimePoint> first_holder_at_;
    std::map<SlotId, Accused> accused_;  // of keeping its replicas waiting
    std::optional<CommitRecord> decision_;
    TimePoint opened_at_{};
    TimePoint deadline_ = kNever;  // of the recall or the reduce
    bool paused_ = false;
    bool held_ = false;
    bool first_step_ = true;
    std::uint32_t fenced_ = 0;
    std::uint32_t counted_ = 0;
    DroppedWork dropped_;
    std::optional<std::string> skip_reason_;
    bool waits_for_holders_ = false;
    RecentTimes waves_;
    int fruitless_ = 0;  // times in a row that waves were given up before one came through
    RecentTimes reduces_;
};

}  // namespace swarm::run

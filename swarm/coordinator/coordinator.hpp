// The coordinator of a run owns data order, step ledger, roster and commit log. It is the role
// behind `swarm train`, one per run, and control plane only: no activation passes through it.
// Invariants: no peer learns of a commit before its record is durable (R3); every message to a
// peer is ordered and repeated until acknowledged; a peer that is silent for 6 s, whose control
// link is gone for 2 s, or that restarted, loses its slot, never its place in the run.
// Threading: a role, single strand. Memory: ledger and roster; one copy of the state while a
// checkpoint is written.
// Source: step protocol, sections 4, 6 and 7.
#pragma once

#include "swarm/coordinator/checkpointer.hpp"
#include "swarm/coordinator/codec_chooser.hpp"
#include "swarm/coordinator/commit_log.hpp"
#include "swarm/coordinator/evaluation/evaluation.hpp"
#include "swarm/coordinator/launcher.hpp"
#include "swarm/coordinator/member_rates.hpp"
#include "swarm/coordinator/placement.hpp"
#include "swarm/coordinator/reachability.hpp"
#include "swarm/coordinator/run_context.hpp"
#include "swarm/coordinator/split_chooser.hpp"
#include "swarm/coordinator/state_votes.hpp"
#include "swarm/coordinator/step_machine.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace swarm::coordinator {

class Coordinator final : public node::Role {
 public:
    struct Options {
        run::RunConfig config;
        std::span<const std::uint32_t> corpus;  // outlives the role
        std::shared_ptr<const run::CheckpointFormat> checkpoints;
        /// Returns the hash of the stage's state at version (0, 0), as peers say it in JOIN. It is
        /// called once for each stage before anybody is heard, and only where that version is
        /// current; it may take seconds. A large model's states are made one at a time.
        std::function<Digest(StageIndex)> first_state;
        /// Digest of what peers compute with, for the log; none in simulated runs, which never go
        /// on with other settings.
        std::optional<Digest> settings = std::nullopt;
        /// A checkpoint from disk, to which the run goes back when no peer has a newer state.
        std::optional<run::RunState> resume = std::nullopt;
        Duration resume_after = std::chrono::seconds(10);
        Duration stage_lost_after = std::chrono::seconds(120);
        StepMachine::Timing timing = {};
        run::PlantedBugs bugs = {};
        std::string tokenizer = {};  // file of the run's tokenizer for clients; empty: none
        const run::SampleRows* rows = nullptr;  // read in place of the corpus; outlive the role
        std::span<const run::HeldOutText> held_out = {};  // outlive the role; none: no evaluation
        std::optional<double> best_held_out = std::nullopt;  // least loss of earlier processes
        /// Takes what each evaluation has found, for people: no decision depends on it.
        std::function<void(const run::HeldOutLosses&)> on_held_out = {};
        /// Is told when eval.patience ends the run, after how many steps and why.
        std::function<void(std::uint64_t, const std::string&)> on_patience_over = {};
        /// Steps after which eval.patience has ended the run in an earlier process. While the run
        /// stands there, nothing is left to train.
        std::optional<std::uint64_t> ended_after = std::nullopt;
    };

    explicit Coordinator(Options options);

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;
    [[nodiscard]] TimePoint next_deadline() const override;
    [[nodiscard]] node::Allowance allowance(const PeerId& peer) const override;

    // Checkers and reports read these; no peer sees them.
    [[nodiscard]] const RunContext& context() const { return context_; }

    [[nodiscard]] const StepMachine& step() const { return step_; }

    [[nodiscard]] bool evaluates() const { return evaluation_.under_way(); }

    [[nodiscard]] bool complete() const { return phase_ == Phase::Complete; }

    /// True when the run failed because a stage has no peer. The next process may go on from the
    /// newest checkpoint.
    [[nodiscard]] bool lost_stage() const { return lost_stage_; }

    /// The layers per stage with which the next process should go on from the checkpoint at which
    /// this one ended; empty when it did not end for another split.
    [[nodiscard]] const std::vector<std::uint32_t>& cut_anew() const { return cut_anew_; }

 private:
    /// Maximum donors per joiner; maximum snapshot orders per COMMIT, whose 64 KiB frame would hold
    /// three times as many.
    static constexpr std::size_t kDonorsMax = 4;
    static constexpr std::size_t kSnapshotOrdersMax = 512;

    /// Time limit of the checkpoint that a new split waits for.
    static constexpr Duration kCutWithin = std::chrono::seconds(60);

    enum class Phase { Starting, Loading, Opening, Open, Finishing, Complete, Ended };

    /// Whether a record must be on disk before the coordinator acts on it.
    enum class Sync : std::uint8_t { Now, Later };

    void handle(const node::Woke&, node::Turn turn);
    void handle(const node::Loaded& loaded, node::Turn turn);
    void handle(const node::Stored& stored, node::Turn turn);
    void handle(const node::LinkUp& up, node::Turn turn);
    void handle(const node::LinkDown& down, node::Turn turn);
    void handle(const node::Received& received, node::Turn turn);
    void handle(const node::Asked& asked, node::Turn turn);

    void handle(const node::DialFailed&, node::Turn) {}  // this role dials nobody

    void handle(const node::Computed&, node::Turn) {}  // this role computes nothing

    void handle(const node::Stop&, node::Turn) {}  // the log already has everything

    void take(PeerId peer, const protocol::Join& join, node::Turn turn);
    void take(PeerId peer, const protocol::Heartbeat& beat, node::Turn turn);
    void take(PeerId peer, const protocol::Leave& leave, node::Turn turn);
    void take(PeerId peer, const protocol::Applied& applied);
    void take(PeerId peer, const protocol::Fetch& fetch, node::Turn turn);
    void give_tokenizer(PeerId peer, const protocol::Fetch& fetch, node::Turn turn);
    void take_from_member(const node::Received& received, node::Turn turn);

    /// Makes room for one more peer. False when the bound is reached and every remembered peer has
    /// a link or a slot.
    [[nodiscard]] bool make_room();
    void forget(PeerId peer);
    void open_for_peers(node::Turn turn);
    void judge(node::Turn turn);
    void lose(PeerId peer, const std::string& reason, IfLast if_last, node::Turn turn);
    void assign(PeerId peer, const protocol::Join& join, node::Turn turn);
    /// The stage with the fewest peers among those for which the newcomer has the memory. Where it
    /// has the memory for none, the stage with the fewest peers of all: the newcomer itself then
    /// says what it lacks. nullopt: everywhere it would be beside a peer that it cannot reach, and
    /// every stage has somebody.
    [[nodiscard]] std::optional<StageIndex> neediest_stage(PeerId newcomer, TimePoint now) const;
    void send_to_standby(PeerId peer, node::Turn turn);
    /// Acts on the neighbours that a peer names as cut off (coordinator_apart.cpp).
    void part_those_cut_off(PeerId from, const std::vector<SlotId>& cut_off, node::Turn turn);
    /// True when the peer's stage has others, as many as a commit needs, that can reach `other`. Of
    /// two in one stage the other is one of them.
    [[nodiscard]] bool may_yield(PeerId peer, PeerId other, TimePoint now) const;
    void yield(PeerId peer, PeerId other, node::Turn turn);
    /// A peer in the neighbourhood of the stage that this one cannot reach, if there is one.
    [[nodiscard]] std::optional<PeerId> unreached_near(PeerId peer, StageIndex stage, TimePoint now)
        const;
    /// True when the peer keeps its stage, because the new split was chosen for the peers that each
    /// stage has.
    [[nodiscard]] bool keeps_stage(const protocol::Join& join) const;
    void compare_compute_class(const std::string& compute_class, node::Turn turn);
    void consider_state(PeerId peer, const protocol::Join& join, node::Turn turn);
    void make_first_states();
    /// The hash of the stage's state at the current version: that of its record, or else the one
    /// that this process computes of a state that it hands out, which it records then.
    [[nodiscard]] std::optional<Digest> known_state(StageIndex stage, node::Turn turn);
    /// True when the current version is that of the checkpoint from which this process began.
    [[nodiscard]] bool is_of_checkpoint() const;
    [[nodiscard]] const std::vector<std::byte>& manifest_of(StageIndex stage);
    [[nodiscard]] run::KnownChunks frozen_chunks(StageIndex stage);
    void free_first_state();
    void begin_checkpoint(node::Turn turn);
    void record_state(StageIndex stage, const Digest& hash, node::Turn turn);
    void claim(PeerId peer, StageIndex stage, const Digest& hash, node::Turn turn);
    void retake_waiting_joins(node::Turn turn);
    /// The stage's members, and movers that left it at the last commit and came back; the oldest
    /// first. The last member of a stage is left out while it is silent.
    [[nodiscard]] std::vector<PeerId> electing_members(StageIndex stage) const;
    /// The peers whose word decides which state of the stage is right: those above, or else those
    /// that were its members at the last commit.
    [[nodiscard]] std::vector<PeerId> electors(StageIndex stage) const;
    /// Records the states that enough electors have said, and fences who contradicts them.
    void settle_states(node::Turn turn);
    /// Has the log name the members that hold what is decided, where they are not those of the
    /// last commit.
    void note_holders(node::Turn turn);
    [[nodiscard]] bool has_lost_stage() const;
    [[nodiscard]] Duration lost_stage_patience() const;
    void watch_lost_stage(node::Turn turn);
    [[nodiscard]] bool can_roll_back() const;
    /// Whether version 0 is the checkpoint that this process was given, and not a function of the
    /// seed.
    [[nodiscard]] bool begins_with_weights() const;
    void roll_back(node::Turn turn);
    void go_back_to_checkpoint(node::Turn turn);
    /// Goes back to the checkpoint when the log has another split, whose states are of no use.
    /// False when there is no checkpoint; then the run has failed.
    [[nodiscard]] bool leave_old_split(node::Turn turn);
    /// Makes all peers begin anew with the settings of this process where the log has others:
    /// from the checkpoint, or from the seed before the first step. False as above.
    [[nodiscard]] bool leave_old_settings(node::Turn turn);
    /// True when the peer's state was made with the settings of an earlier process.
    [[nodiscard]] bool has_old_settings(PeerId peer) const;
    void hold_for_cut(node::Turn turn);
    void watch_cut(node::Turn turn);

    void record_decision(node::Turn turn);
    void conclude(node::Turn turn);
    std::vector<protocol::SnapshotOrder> snapshot_orders();
    std::vector<protocol::SnapshotOrder> joiner_orders();
    void serve_newcomers(node::Turn turn);
    void report_step(const CommitRecord& record, node::Turn turn);
    void release_drained(node::Turn turn);
    void finish(node::Turn turn);
    void begin_moves(const std::vector<router::Move>& moves, node::Turn turn);
    /// True when the draining slot belongs to a mover.
    bool release_mover(const protocol::SlotInfo& info, node::Turn turn);
    [[nodiscard]] std::optional<StageIndex> stage_for(PeerId peer, TimePoint now);
    /// True when the mover left its stage at the last commit and no peer there has applied that
    /// commit yet, so that it may have the only copy of the state.
    [[nodiscard]] bool may_be_needed_back(PeerId mover) const;
    void call_back_movers(StageIndex stage, node::Turn turn);
    void repeat_commit(const std::vector<protocol::SnapshotOrder>& orders, node::Turn turn);
    void write_checkpoint(node::Turn turn);
    /// Begins the evaluation that follows the step just made, where one is due.
    void begin_evaluation(node::Turn turn);
    void advance_evaluation(node::Turn turn);
    void take_held_out(run::HeldOutLosses losses, node::Turn turn);
    /// Orders a checkpoint of the current version, unless there is an order for it already.
    void keep_best(node::Turn turn);
    void fail(int exit_code, std::string text, node::Turn turn);
    StoreId append(const LogRecord& record, Sync sync, node::Turn turn);

    Options options_;
    std::string run_file_;
    RunContext context_;
    Launcher launcher_;
    StepMachine step_;
    Checkpointer checkpointer_;
    Placement placement_;
    Reachability reachability_;
    MeasuredSpeeds speeds_;
    SelfMeasures measures_;
    CodecChooser codec_chooser_;
    SplitChooser split_chooser_;
    Evaluation evaluation_;
    run::HeldOutWatch held_out_watch_;
    std::optional<double> held_out_loss_;  // mean of the last evaluation of this process
    CommitRecord deciding_;  // the record that is being made durable
    RunHistory history_;
    Phase phase_ = Phase::Starting;
    std::uint64_t next_store_ = 1;
    std::optional<StoreId> opening_;
    std::optional<StoreId> committing_;
    std::optional<StoreId> checkpoint_stored_;
    std::optional<run::CheckpointFiles> checkpoint_files_;
    std::map<PeerId, StageIndex> moving_;          // by mover: the stage where it goes
    std::map<PeerId, StageIndex> left_at_commit_;  // movers of the last commit: the stage they left
    std::map<PeerId, StageIndex> assigned_;  // peers that build a state and have not come back
    std::map<PeerId, ParameterVersion>
        commit_repeated_;  // the version whose commit the peer was sent again
    std::map<PeerId, protocol::Join>
        waiting_joins_;  // joins that wait for the STATE record of their stage
    StateVotes votes_;
    std::uint64_t settled_roster_ = 0;            // number of the roster that was judged last
    std::map<StageIndex, TimePoint> claims_due_;  // then the claims that came decide
    MembersByStage holders_;  // members at the last commit; empty: an older log does not say
    std::vector<Digest> first_states_;
    std::map<StageIndex, std::vector<std::byte>> manifests_;  // those of options_.resume
    std::set<PeerId> told_wrong_state_;  // peers about which a warning was given
    std::vector<PeerId> needs_snapshot_;
    std::set<std::string> compute_classes_;  // the classes of all peers that were ever admitted
    std::optional<Digest> weights_sha256_;
    TimePoint lost_since_ = kNever;
    std::optional<ParameterVersion> rolled_back_to_;
    bool settings_changed_ = false;  // before the first step
    std::set<PeerId> has_settings_;  // then: peers that were assigned with the new ones
    std::vector<std::uint32_t>
        cut_to_;  // the split that waits for the checkpoint of the current version
    TimePoint cut_by_ = kNever;
    std::vector<std::uint32_t> cut_anew_;
    TimePoint step_began_{};
    bool final_checkpoint_ = false;
    bool released_ = false;
    bool restarted_ = false;
    bool was_cut_ = false;  // this process has cut the layers anew, into as many stages
    bool lost_stage_ = false;
    bool wrote_checkpoint_ = false;  // one that is newer than options_.resume
};

}  // namespace swarm::coordinator

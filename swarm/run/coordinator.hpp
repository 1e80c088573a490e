// The coordinator of a run: data order, step ledger, roster, commit log. One per run, the role
// behind `swarm train`. It is control plane only: no activation passes through it.
// Invariants: no peer learns of a commit before its record is durable (R3); every message to a
// peer is ordered and repeated until acknowledged; a peer that is silent for 6 s, whose control
// link is gone for 2 s, or that restarted, loses its slot, never its place in the run.
// Threading: a role, single strand. Memory: ledger and roster; one copy of the state while a
// checkpoint is written.
// Source: step protocol, sections 4, 6 and 7.
#pragma once

#include "swarm/run/checkpointer.hpp"
#include "swarm/run/codec_chooser.hpp"
#include "swarm/run/commit_log.hpp"
#include "swarm/run/launcher.hpp"
#include "swarm/run/measured_speeds.hpp"
#include "swarm/run/placement.hpp"
#include "swarm/run/run_context.hpp"
#include "swarm/run/self_measures.hpp"
#include "swarm/run/split_chooser.hpp"
#include "swarm/run/step_machine.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace swarm::run {

class Coordinator final : public node::Role {
 public:
    struct Options {
        RunConfig config;
        std::span<const std::uint16_t> corpus;  // outlives the role
        std::shared_ptr<const CheckpointFormat> checkpoints;
        /// A checkpoint read from disk: what the run falls back to when no peer has a newer state.
        std::optional<RunState> resume = std::nullopt;
        Duration resume_after = std::chrono::seconds(10);
        Duration stage_lost_after = std::chrono::seconds(120);
        StepMachine::Timing timing = {};
        PlantedBugs bugs = {};
    };

    explicit Coordinator(Options options);

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;
    [[nodiscard]] TimePoint next_deadline() const override;

    // For checkers and reports; no peer sees these.
    [[nodiscard]] const RunContext& context() const { return context_; }

    [[nodiscard]] const StepMachine& step() const { return step_; }

    [[nodiscard]] bool complete() const { return phase_ == Phase::Complete; }

    /// It failed because a stage has nobody: its successor may go on from the newest checkpoint.
    [[nodiscard]] bool lost_stage() const { return lost_stage_; }

    /// It ended at a checkpoint because its stages should have so many layers: its successor cuts
    /// them so, and goes on from there. Empty: it did not.
    [[nodiscard]] const std::vector<std::uint32_t>& cut_anew() const { return cut_anew_; }

 private:
    /// Of one joiner; and of all that one commit serves: its 64 KiB have room for thrice as many.
    static constexpr std::size_t kDonorsMax = 4;
    static constexpr std::size_t kSnapshotOrdersMax = 512;

    /// Of a checkpoint that a new split waits for.
    static constexpr Duration kCutWithin = std::chrono::seconds(60);

    enum class Phase { Starting, Loading, Opening, Open, Finishing, Complete, Ended };

    void handle(const node::Woke&, node::Turn turn);
    void handle(const node::Loaded& loaded, node::Turn turn);
    void handle(const node::Stored& stored, node::Turn turn);
    void handle(const node::LinkUp& up, node::Turn turn);
    void handle(const node::LinkDown& down, node::Turn turn);
    void handle(const node::Received& received, node::Turn turn);
    void handle(const node::Asked& asked, node::Turn turn);

    void handle(const node::DialFailed&, node::Turn) {}  // it dials nobody

    void handle(const node::Computed&, node::Turn) {}  // it computes nothing

    void handle(const node::Stop&, node::Turn) {}  // its log says all there is to say

    void take(PeerId peer, const protocol::Join& join, node::Turn turn);
    void take(PeerId peer, const protocol::Heartbeat& beat, node::Turn turn);
    void take(PeerId peer, const protocol::Leave& leave, node::Turn turn);
    void take(PeerId peer, const protocol::Applied& applied, node::Turn turn);
    void take(PeerId peer, const protocol::Fetch& fetch, node::Turn turn);
    void take_from_member(const node::Received& received, node::Turn turn);

    /// False: the bound is reached, and whoever is remembered has a link or a slot.
    [[nodiscard]] bool make_room();
    void forget(PeerId peer);
    void open_for_peers(node::Turn turn);
    void judge(node::Turn turn);
    void lose(PeerId peer, const std::string& reason, bool is_gone, node::Turn turn);
    void assign(PeerId peer, const protocol::Join& join, node::Turn turn);
    /// With the fewest peers, of those that the peer has the memory for; where that is none, of
    /// all: it says itself what it lacks.
    [[nodiscard]] StageIndex neediest_stage(PeerId newcomer) const;
    /// The new split was chosen for the peers that each stage has.
    [[nodiscard]] bool keeps_stage(const protocol::Join& join) const;
    void compare_compute_class(const std::string& compute_class, node::Turn turn);
    void consider_state(PeerId peer, const protocol::Join& join, node::Turn turn);
    [[nodiscard]] bool has_lost_stage() const;
    [[nodiscard]] Duration lost_stage_patience() const;
    void watch_lost_stage(node::Turn turn);
    [[nodiscard]] bool can_roll_back() const;
    void roll_back(node::Turn turn);
    void go_back_to_checkpoint(node::Turn turn);
    /// The log is of another split, whose states are of no use. False: there is nothing else.
    [[nodiscard]] bool leave_old_split(node::Turn turn);
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
    /// True when the draining slot is a mover's.
    bool release_mover(const protocol::SlotInfo& info, node::Turn turn);
    [[nodiscard]] StageIndex stage_for(PeerId peer, TimePoint now);
    /// It left its stage at the last commit, and nobody there has applied that commit yet: it may
    /// have the only copy of the state.
    [[nodiscard]] bool may_be_needed_back(PeerId mover) const;
    void call_back_movers(StageIndex stage, node::Turn turn);
    void repeat_commit(const std::vector<protocol::SnapshotOrder>& orders, node::Turn turn);
    void write_checkpoint(node::Turn turn);
    void fail(int exit_code, std::string text, node::Turn turn);
    StoreId append(const LogRecord& record, bool durable, node::Turn turn);

    Options options_;
    std::string run_file_;
    RunContext context_;
    Launcher launcher_;
    StepMachine step_;
    Checkpointer checkpointer_;
    Placement placement_;
    MeasuredSpeeds speeds_;
    SelfMeasures measures_;
    CodecChooser codec_chooser_;
    SplitChooser split_chooser_;
    CommitRecord deciding_;  // on its way to the log
    RunHistory history_;
    Phase phase_ = Phase::Starting;
    std::uint64_t next_store_ = 1;
    std::optional<StoreId> opening_;
    std::optional<StoreId> committing_;
    std::optional<StoreId> checkpoint_stored_;
    std::optional<CheckpointFiles> checkpoint_files_;
    std::map<PeerId, StageIndex> moving_;                 // where each goes
    std::map<PeerId, StageIndex> left_at_commit_;         // movers of the last one; from where
    std::map<PeerId, StageIndex> assigned_;               // told to build a state, not yet back
    std::map<PeerId, ParameterVersion> commit_repeated_;  // the version whose commit it was resent
    std::map<PeerId, protocol::Join> waiting_joins_;      // their STATE record is not known yet
    std::map<StageIndex, std::map<PeerId, Digest>> applied_;
    std::vector<PeerId> needs_snapshot_;
    std::set<std::string> compute_classes_;  // of everybody who was ever admitted
    std::optional<Digest> weights_sha256_;
    TimePoint lost_since_ = kNever;
    std::optional<ParameterVersion> rolled_back_to_;
    std::vector<std::uint32_t> cut_to_;  // once the checkpoint of the current version is written
    TimePoint cut_by_ = kNever;
    std::vector<std::uint32_t> cut_anew_;
    TimePoint step_began_{};
    bool final_checkpoint_ = false;
    bool released_ = false;
    bool restarted_ = false;
    bool was_cut_ = false;  // by this process, into as many stages
    bool lost_stage_ = false;
    bool wrote_checkpoint_ = false;  // newer than options_.resume
};

}  // namespace swarm::run

// The role behind `swarm serve`: hosts one stage of a run, from the first contact with the
// coordinator to the last goodbye. It routes each event to the sub-machine that owns it; what they
// share is in server_context.
//   wave: training legs · reduction: one epoch's butterfly · share_exchange: the same in an
//   exchange of mode sparse · joining: how a state is come by
//   snapshots: donor · state_cache · inference_relay · peer_links
// Invariants: frames of another version are held (newer, at most 2 s) or refused, never computed;
// only COMMIT and RECALL of the current step free sums; a lost coordinator changes nothing: the
// server computes, keeps its sums and reconnects for ever.
// Threading: a role, single strand; device work by Compute. Source: step protocol, section 5.
#pragma once

#include "stages/inference_relay.hpp"
#include "stages/joining.hpp"
#include "stages/peer_links.hpp"
#include "stages/reduction.hpp"
#include "stages/server_context.hpp"
#include "stages/share_exchange.hpp"
#include "stages/snapshots.hpp"
#include "stages/state_cache.hpp"
#include "stages/wave.hpp"

#include <deque>
#include <optional>
#include <string>

namespace stages {

class StageServer final : public node::Role {
 public:
    struct Options {
        PeerId self;
        swarm::Incarnation incarnation;
        PeerId coordinator{};             // all zero: whoever answers at the address
        std::string coordinator_address;  // host:port
        std::string own_address;          // where other peers dial this one
        ComputeFactory make_compute;
        /// How long the coordinator may be out of reach before the first contact; 0: for ever.
        swarm::Duration first_contact_within{};
        /// What the stage may take of this machine (swarm/run/memory_plan); 0: no bound.
        std::uint64_t memory_bytes = 0;
        /// Keeps the newest state in the peer's store (stages/state_cache); `cached` and `unsent`:
        /// what an earlier process has left there.
        bool keeps_state = false;
        std::optional<CachedState> cached{};
        std::optional<CachedState> unsent{};
        swarm::run::PlantedBugs bugs{};
        std::uint64_t slice_bytes_max = protocol::kSliceBytesMax;  // tests cut finer
    };

    explicit StageServer(Options options);

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;
    [[nodiscard]] TimePoint next_deadline() const override;

    // For checkers and reports; no peer sees these.
    [[nodiscard]] const ServerContext& context() const { return context_; }

    [[nodiscard]] const Wave& wave() const { return wave_; }

    [[nodiscard]] std::size_t held_for_version() const { return deferred_.size(); }

 private:
    static constexpr swarm::Duration kHeartbeatEvery = std::chrono::seconds(2);
    static constexpr swarm::Duration kHoldNewerFor = std::chrono::seconds(2);

    struct Deferred {
        node::Received received;
        TimePoint until;
    };

    void handle(const node::LinkUp& up, node::Turn turn);
    void handle(const node::LinkDown& down, node::Turn turn);
    void handle(const node::DialFailed& failed, node::Turn turn);
    void handle(const node::Received& received, node::Turn turn);
    void handle(const node::Computed& computed, node::Turn turn);
    void handle(const node::Woke&, node::Turn turn);
    void handle(const node::Asked& asked, node::Turn turn);
    void handle(const node::Stop&, node::Turn turn);

    void handle(const node::Stored& stored, node::Turn turn) {
        cache_.on(stored, joining_.run_file(), turn);
    }

    void handle(const node::Loaded&, node::Turn) {}  // what it needs it is given

    void take_from_coordinator(const node::Received& received, node::Turn turn);
    void take_from_peer(const node::Received& received, node::Turn turn);
    void donate(PeerId to, const protocol::Fetch& fetch, node::Turn turn);
    void take_decision(const protocol::Body& body, node::Turn turn);
    template <class Leg>
    void take_leg(
        const Leg& leg, protocol::Leg direction, const node::Received& received, node::Turn turn
    );
    void defer(const node::Received& received, node::Turn turn);
    void redeliver(node::Turn turn);
    void refuse_overdue(node::Turn turn);

    void on_roster(const protocol::Roster& roster, node::Turn turn);
    void on_recall(const protocol::Recall& recall, node::Turn turn);
    void on_reduce(const protocol::Reduce& reduce, node::Turn turn);
    void on_commit(const protocol::Commit& commit, node::Turn turn);
    void apply(const protocol::Commit& commit, node::Turn turn);
    /// The result that this commit decides on is here.
    [[nodiscard]] bool has_result(const protocol::Commit& commit) const;
    /// What the commit is for this replica, in mode sparse: its own step, or none.
    [[nodiscard]] protocol::StepScalars own_scalars(const protocol::Commit& commit) const;
    void begin_round_anew(node::Turn turn);
    void freeze_if_ordered(const protocol::Commit& commit, node::Turn turn);
    void after_state_change(node::Turn turn);
    void peer_lost(PeerId peer, node::Turn turn);

    void dial_coordinator(node::Turn turn);
    void heartbeat(node::Turn turn);
    void ask_to_leave(node::Turn turn);
    void say_state(node::Turn turn);
    void say_status(std::string text, node::Turn turn);
    void end(std::string reason, node::Turn turn);

    Options options_;
    ServerContext context_;
    PeerLinks links_;
    Wave wave_;
    Reduction reduction_;
    ShareExchange exchange_;  // in mode sparse, where a turn has no microbatches
    Joining joining_;
    Snapshots snapshots_;
    StateCache cache_;
    InferenceRelay inference_;

    std::deque<Deferred> deferred_;
    std::deque<node::Received> decisions_;  // came while a commit was being applied
    swarm::Epoch highest_epoch_;
    std::uint32_t listed_ = 0;  // microbatches that the last REDUCE names
    std::optional<swarm::Incarnation> coordinator_incarnation_;
    std::array<bool, 2> coordinator_dialing_{};
    std::array<bool, 2> coordinator_up_{};
    TimePoint dial_at_ = swarm::kAtOnce;
    TimePoint beat_at_ = swarm::kNever;
    TimePoint give_up_at_ = swarm::kNever;
    swarm::Duration dial_pause_ = std::chrono::milliseconds(100);
    std::string status_;
    TimePoint leave_at_ = swarm::kNever;  // whether or not a commit has come
    bool draining_ = false;
    bool ended_ = false;
    bool started_ = false;
};

}  // namespace stages

// The role behind `swarm serve`. It hosts one stage of a run, from the first contact with the
// coordinator to its end, and routes each event to the sub-machine that owns it:
//   wave: training legs · reduction: one epoch's butterfly · share_exchange: of mode sparse
//   joining: obtains a state · snapshots: give it to others · state_cache: keeps it on disk
//   inference_relay, evaluation_relay: answers without training · peer_links: neighbours
//   server_context: what all of them share
// Invariants: frames of a newer version are held, at most 2 s; those of another version are
// refused, never computed. Only COMMIT and RECALL of the current step free sums. A lost coordinator
// changes nothing: the server computes, keeps its sums and reconnects for ever.
// Threading: a role, single strand; device work by Compute. Errors: RunFailed with an exit code.
#pragma once

#include "stages/server/evaluation_relay.hpp"
#include "stages/server/inference_relay.hpp"
#include "stages/server/joining.hpp"
#include "stages/server/peer_links.hpp"
#include "stages/server/reduction.hpp"
#include "stages/server/server_context.hpp"
#include "stages/server/share_exchange.hpp"
#include "stages/server/snapshots.hpp"
#include "stages/server/state_cache.hpp"
#include "stages/server/wave.hpp"

#include <deque>
#include <optional>
#include <string>

namespace stages {

class StageServer final : public node::Role {
 public:
    struct Options {
        PeerId self;
        swarm::Incarnation incarnation;
        PeerId coordinator{};             // all zero: any coordinator that answers at the address
        std::string coordinator_address;  // host:port
        std::string own_address;          // address at which other peers dial this one
        ComputeFactory make_compute;
        /// Longest wait for the coordinator's first answer; 0: for ever.
        swarm::Duration first_contact_within{};
        /// Memory of this machine that the stage may take (swarm/run/memory_plan); 0: no bound.
        std::uint64_t memory_bytes = 0;
        /// Memory of the whole machine. A stage that is larger is refused before anything is made
        /// of it; 0: not known.
        std::uint64_t machine_bytes = 0;
        /// Keep the newest state in the peer's store (stages/server/state_cache).
        bool keeps_state = false;
        std::optional<CachedState> cached{};  // state that an earlier process left in the store
        std::optional<CachedState> unsent{};  // buffer of mode sparse that it left there
        swarm::run::PlantedBugs bugs{};
        std::uint64_t slice_bytes_max = protocol::kSliceBytesMax;  // smaller in tests
    };

    explicit StageServer(Options options);

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;
    [[nodiscard]] TimePoint next_deadline() const override;
    /// Tensors come from peers of the roster alone, and in the sizes of the run.
    [[nodiscard]] node::Allowance allowance(const PeerId& peer) const override;

    // The accessors below are for checkers and reports; no peer sees their values.
    [[nodiscard]] const ServerContext& context() const { return context_; }

    [[nodiscard]] const Wave& wave() const { return wave_; }

    /// Number of frames that are held because their version is newer.
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

    void handle(const node::Loaded&, node::Turn) {}  // the options have all that was stored

    void take_from_coordinator(const node::Received& received, node::Turn turn);
    void take_from_peer(const node::Received& received, node::Turn turn);
    /// Takes what belongs to inference or evaluation. False for all other messages.
    [[nodiscard]] bool take_question(const node::Received& received, node::Turn turn);
    void take_evaluate(
        const protocol::Evaluate& evaluate, const node::Received& received, node::Turn turn
    );
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
    /// True when the result that this commit decides on is here.
    [[nodiscard]] bool has_result(const protocol::Commit& commit) const;
    /// The scalars for this replica. In mode sparse they are those of its own step, or of none.
    [[nodiscard]] protocol::StepScalars own_scalars(const protocol::Commit& commit) const;
    /// Goes back to the shared weights: nobody has counted what a new slot has trained on.
    void begin_round_anew(node::Turn turn);
    void note_progress(const protocol::Commit& commit, node::Turn turn);
    void freeze_if_ordered(const protocol::Commit& commit, node::Turn turn);
    void after_state_change(node::Turn turn);
    void peer_lost(PeerId peer, node::Turn turn);

    void dial_coordinator(node::Turn turn);
    void heartbeat(node::Turn turn);
    void ask_to_leave(node::Turn turn);
    void say_state(node::Turn turn);
    void say_status(std::string text, node::Turn turn);
    /// Tells what this peer does, also when the text has not changed.
    void tell_status(node::Turn turn);
    /// Why the coordinator has not answered, as far as this peer can know.
    [[nodiscard]] std::string no_coordinator() const;
    void leave_wrong_place(protocol::HubKind here, node::Turn turn);
    void end(std::string reason, node::Turn turn);

    Options options_;
    ServerContext context_;
    PeerLinks links_;
    Wave wave_;
    Reduction reduction_;
    ShareExchange exchange_;  // takes the place of reduction_ in the exchanges of mode sparse
    Joining joining_;
    Snapshots snapshots_;
    StateCache cache_;
    InferenceRelay inference_;
    EvaluationRelay evaluation_;

    std::deque<Deferred> deferred_;
    std::deque<node::Received> decisions_;  // decisions that wait until a commit is applied
    swarm::Epoch highest_epoch_;
    std::uint32_t listed_ = 0;  // number of microbatches in the last REDUCE
    std::optional<swarm::Incarnation> coordinator_incarnation_;
    std::array<bool, 2> coordinator_dialing_{};
    std::array<bool, 2> coordinator_up_{};
    TimePoint dial_at_ = swarm::kAtOnce;
    TimePoint beat_at_ = swarm::kNever;
    TimePoint give_up_at_ = swarm::kNever;
    swarm::Duration dial_pause_ = std::chrono::milliseconds(100);
    std::optional<swarm::Error> dial_trouble_;  // why the last dial of the coordinator has failed
    std::string status_;
    TimePoint coordinator_gone_since_ = swarm::kNever;  // since then there is no control link
    std::uint64_t added_up_ = 0;  // microbatches of this peer in the steps that were committed
    double share_ = 0;            // part of the last step's microbatches
    std::optional<double> loss_;
    TimePoint leave_at_ = swarm::kNever;  // when a draining peer goes without a commit
    bool draining_ = false;
    bool ended_ = false;
    bool started_ = false;
};

}  // namespace stages

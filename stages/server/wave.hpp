// The training legs at one stage server: takes forwards and backwards, has them computed, adds
// gradients, offers what came out to the next hop, and reports what is lost.
// Invariants: (m, a) is offered to one successor per direction (send rule). Nothing older than
// floor[m] is taken or added. An id enters the held set in the turn in which its addition is handed
// to the device, after the checks are made again. Nothing is added while the set is sealed.
// Threading: single strand. Bounds: kWorkQueueMax legs queued, kDeviceLegsMax on the device; one
// output is kept per leg until the next hop has accepted it.
// Errors: a leg that cannot be taken is answered by REFUSED; a failed computation becomes FAIL.
// Source: step protocol, sections 3 (send rule) and 5.
#pragma once

#include "router/hop_router.hpp"
#include "stages/server/own_speeds.hpp"
#include "stages/server/peer_links.hpp"
#include "stages/server/server_context.hpp"
#include "swarm/base/digest.hpp"

#include <boost/container/flat_map.hpp>
#include <boost/container/flat_set.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace stages {

using protocol::LegId;
using protocol::RefusedReason;
using swarm::Attempt;
using swarm::Epoch;
using swarm::StageMask;

/// How far a leg has come at a stage server.
enum class LegPhase {
    Queued,     // the leg waits for the device
    Computing,  // the leg is on the device
    Placing,    // the output waits for a peer to take it
    Offered,    // the output was sent to the next hop
    Accepted,   // the next hop has accepted the output
    Done        // the next hop has passed it on, or nothing is left to do
};

class Wave {
 public:
    Wave(ServerContext& context, PeerLinks& links);

    /// Begins a new run or stage: the router starts anew.
    void assigned();
    /// Forgets the last step; is called when the state has a new version.
    void new_step(TimePoint now);
    /// Follows a change of the roster.
    void refresh(TimePoint now);
    /// Tells the router whether the peer is linked.
    void link_changed(PeerId peer, TimePoint now);

    /// Accepts a leg and queues it, or refuses it, or repeats the answers to it.
    void take(PeerId from, const protocol::Forward& forward, node::Payload input, node::Turn turn);
    void take(
        PeerId from, const protocol::Backward& backward, node::Payload input, node::Turn turn
    );
    void on(PeerId from, const protocol::Accepted& accepted, node::Turn turn);
    void on(PeerId from, const protocol::Refused& refused, node::Turn turn);
    void on(PeerId from, const protocol::Passed& passed, node::Turn turn);

    /// Promises to take nothing older than this recall, and answers which of the ids are held.
    protocol::Held recall(const protocol::Recall& recall, node::Turn turn);

    /// Adds no more gradients before the next recall or step.
    void seal() { sealed_ = true; }

    /// Those of these microbatches of which no attempt is here: nothing will make them be held.
    [[nodiscard]] std::vector<MicrobatchId> never_came(const MicrobatchIds& ids) const;
    /// The slots that have not given back gradients which this stage needs or has to pass down.
    [[nodiscard]] std::vector<SlotId> owing_gradients() const;

    /// Repeats what may have been lost, when both lanes to the same incarnation are up again.
    void resend(PeerId peer, node::Turn turn);
    /// Reports every attempt that was sent to a slot that is gone for good.
    void slot_lost(SlotId slot, node::Turn turn);

    /// Starts the work that can start; is called at the end of each turn.
    void pump(node::Turn turn);

    void wake(TimePoint now) { router_->wake(now); }

    [[nodiscard]] TimePoint next_deadline() const { return router_->next_deadline(); }

    [[nodiscard]] const MicrobatchIds& held() const { return held_; }

    /// Number of legs that wait for the device.
    [[nodiscard]] std::size_t queued() const { return queue_.size(); }

    [[nodiscard]] std::vector<protocol::ObservedRate> observed_rates(TimePoint now) const {
        return router_->observed_rates(now);
    }

    [[nodiscard]] protocol::SelfMeasured own_speeds(TimePoint now) {
        using Place = OwnSpeeds::Place;
        return speeds_.measured(context_.is_tail() ? Place::Tail : Place::BelowTail, now);
    }

    /// A linked peer of the next stage for a hop that trains nothing. Consecutive numbers get
    /// these peers in turn, in the order of the roster; number 0 gets the first one.
    [[nodiscard]] std::optional<PeerId> any_next_hop(std::uint64_t number) const;

 private:
    static constexpr std::size_t kDeviceLegsMax = 2;

    struct LegState {
        LegId id;
        StageMask mask;
        std::vector<SlotId> path;  // path as received
        PeerId from;               // the sender, which gets ACCEPTED and PASSED
        swarm::run::LegCodecs codecs{};
        std::vector<std::uint32_t> tokens{};
        node::Payload input{};
        node::Payload output{};  // output until the next hop accepts it
        LegPhase phase = LegPhase::Queued;
        SlotId to{};                       // slot to which the output was offered
        std::vector<SlotId> refused_by{};  // slots that refused the attempt for good
        TimePoint offered_at{};
        router::LineMeter::Generation offered_in{};
        bool passed_there = false;         // true when the next hop has sent PASSED
        bool resent = false;               // true when two copies of the offer may be under way
        std::uint64_t order = 0;           // order of acceptance
        std::optional<SlotId> taken_in{};  // own slot when the leg was accepted
    };

    /// The state of one microbatch in this step.
    struct Row {
        Attempt floor{};  // oldest attempt that is still taken or added
        Attempt seen{};   // newest attempt whose forward was accepted
        Attempt graph{};  // attempt whose graph is kept; {}: none
        double loss = 0;  // loss at the tail
    };

    using LegKey = std::pair<MicrobatchId, protocol::Leg>;

    void forget_step();
    [[nodiscard]] bool has_right_codecs(const swarm::run::LegCodecs& codecs) const;
    std::optional<RefusedReason> check(PeerId from, const protocol::Forward& forward) const;
    std::optional<RefusedReason> check(PeerId from, const protocol::Backward& backward) const;
    /// Repeats the answers to a leg that was taken before. Returns false for a new leg.
    bool repeat_answers(PeerId from, const LegId& leg, node::Turn turn);
    void accept(LegState leg, node::Turn turn);

    void compute(LegState& leg, node::Turn turn);
    void compute_forward(LegState& leg, node::Turn turn);
    void compute_tail(LegState& leg, node::Turn turn);
    void compute_backward(LegState& leg, node::Turn turn);
    void computed(
        const LegKey& key, const LegId& id, swarm::Result<node::Payload> output, node::Turn turn
    );
    void add_gradient(const LegState& leg, node::Turn turn);
    void drop_graph(MicrobatchId id, Attempt attempt, node::Turn turn);

    void place_forwards(node::Turn turn);
    [[nodiscard]] bool is_refused_by_all(const LegState& leg) const;
    void give_up_refused(LegState& leg, SlotId by, node::Turn turn);
    void offer(LegState& leg, SlotId to, node::Turn turn);
    void send_offer(const LegState& leg, node::Turn turn);
    [[nodiscard]] bool has_open_forward(const LegState& leg) const;
    void abandon_offer(const LegState& leg, TimePoint now);
    void finish_leg(LegState& leg, node::Turn turn);
    void tell_passed(const LegState& leg, node::Turn turn);
    /// Reports FAIL about a slot to the coordinator.
    void fail(
        SlotId about,
        protocol::FailReason reason,
        std::vector<protocol::FailedItem> items,
        node::Turn turn
    );

    /// Finds the leg whose output travels as `outgoing`; null when it is forgotten.
    LegState* find_by_offer(const LegId& outgoing);
    /// Id under which the output of a leg travels.
    [[nodiscard]] LegId outgoing(const LegState& leg) const;
    [[nodiscard]] bool is_last_leg(const LegState& leg) const;
    [[nodiscard]] router::Request request() const;

    ServerContext& context_;
    PeerLinks& links_;
    std::unique_ptr<router::HopRouter> router_;
    OwnSpeeds speeds_;
    std::vector<SlotId> candidates_;  // slots that the router knows
    std::vector<Row> rows_;           // one row per microbatch
    using Age = std::pair<std::uint64_t, LegKey>;

    // The containers are flat, because a step has few legs and looks each up some ten times.
    boost::container::flat_map<LegKey, std::unique_ptr<LegState>> legs_;  // newest attempts
    boost::container::flat_set<std::pair<int, Age>> queue_;  // order: backward first, then age
    boost::container::flat_set<LegKey> placing_;             // legs in the phase Placing
    MicrobatchIds held_;
    std::size_t on_device_ = 0;
    std::uint64_t next_order_ = 0;
    bool sealed_ = false;
};

}  // namespace stages

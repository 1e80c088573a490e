// The training legs at one stage server: takes forwards and backwards, has them computed, adds
// gradients, offers what came out to the next hop, and reports what is lost.
// Invariants: (m, a) is offered to one successor per direction (send rule); nothing older than
// floor[m] is taken or added; an id enters the held set in the turn in which its addition is handed
// to the device, after the checks are made again; nothing is added while the set is sealed.
// Threading: single strand. Bounds: kWorkQueueMax legs queued, kDeviceLegsMax on the device; one
// output kept per leg until the next hop has accepted it.
// Source: step protocol, sections 3 (send rule) and 5.
#pragma once

#include "router/hop_router.hpp"
#include "stages/own_speeds.hpp"
#include "stages/peer_links.hpp"
#include "stages/server_context.hpp"
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

class Wave {
 public:
    Wave(ServerContext& context, PeerLinks& links);

    /// A new run or stage: the router starts anew.
    void assigned();
    /// The state has a new version: everything of the step before is forgotten.
    void new_step(TimePoint now);
    /// The roster changed.
    void refresh(TimePoint now);
    void link_changed(PeerId peer, TimePoint now);

    void take(PeerId from, const protocol::Forward& forward, node::Payload input, node::Turn turn);
    void take(
        PeerId from, const protocol::Backward& backward, node::Payload input, node::Turn turn
    );
    void on(PeerId from, const protocol::Accepted& accepted, node::Turn turn);
    void on(PeerId from, const protocol::Refused& refused, node::Turn turn);
    void on(PeerId from, const protocol::Passed& passed, node::Turn turn);

    /// The promise: answers which of the ids are held, and takes nothing older from now on.
    protocol::Held recall(const protocol::Recall& recall, node::Turn turn);

    void seal() { sealed_ = true; }

    void unseal() { sealed_ = false; }

    /// Both lanes to the peer are up again (same incarnation): repeats what may have been lost.
    void resend(PeerId peer, node::Turn turn);
    /// The slot is gone for good: reports every attempt that was sent there.
    void slot_lost(SlotId slot, node::Turn turn);

    /// Starts what can start. Call at the end of each turn.
    void pump(node::Turn turn);

    void wake(TimePoint now) { router_->wake(now); }

    [[nodiscard]] TimePoint next_deadline() const { return router_->next_deadline(); }

    [[nodiscard]] const MicrobatchIds& held() const { return held_; }

    /// Legs that wait for the device.
    [[nodiscard]] std::size_t queued() const { return queue_.size(); }

    [[nodiscard]] std::vector<protocol::ObservedRate> observed_rates(TimePoint now) const {
        return router_->observed_rates(now);
    }

    [[nodiscard]] protocol::SelfMeasured own_speeds(TimePoint now) {
        return speeds_.measured(context_.is_tail(), now);
    }

    /// A peer for an inference hop: any that is linked.
    [[nodiscard]] std::optional<PeerId> any_next_hop() const;

 private:
    static constexpr std::size_t kDeviceLegsMax = 2;

    enum class Stage { Queued, Computing, Placing, Offered, Accepted, Done };

    struct LegState {
        LegId id;
        StageMask mask;
        std::vector<SlotId> path;  // as received
        PeerId from;               // who hears ACCEPTED and PASSED
        swarm::run::LegCodecs codecs{};
        std::vector<std::uint32_t> tokens{};
        node::Payload input{};
        node::Payload output{};  // until the next hop accepts it
        Stage stage = Stage::Queued;
        SlotId to{};                       // whom the output was offered
        std::vector<SlotId> refused_by{};  // for good
        TimePoint offered_at{};
        LineMeter::Generation offered_in{};
        bool passed_there = false;
        bool resent = false;  // a copy may still be under way when a refusal comes
        std::uint64_t order = 0;
        std::optional<SlotId> taken_in{};  // our slot when it was accepted
    };

    struct Row {
        Attempt floor{};
        Attempt seen{};
        Attempt graph{};  // attempt whose graph is kept; {}: none
        double loss = 0;
    };

    using LegKey = std::pair<MicrobatchId, protocol::Leg>;

    void forget_step();
    [[nodiscard]] bool has_right_codecs(const swarm::run::LegCodecs& codecs) const;
    std::optional<RefusedReason> check(PeerId from, const protocol::Forward& forward) const;
    std::optional<RefusedReason> check(PeerId from, const protocol::Backward& backward) const;
    /// True when the leg was taken before: its answers are repeated.
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
    void fail(
        SlotId about,
        protocol::FailReason reason,
        std::vector<protocol::FailedItem> items,
        node::Turn turn
    );

    /// The leg of ours whose output travels as `outgoing`; null when it is forgotten.
    LegState* find_by_offer(const LegId& outgoing);
    [[nodiscard]] LegId outgoing(const LegState& leg) const;
    [[nodiscard]] bool is_last_leg(const LegState& leg) const;
    [[nodiscard]] router::Request request() const;

    ServerContext& context_;
    PeerLinks& links_;
    std::unique_ptr<router::HopRouter> router_;
    OwnSpeeds speeds_;
    std::vector<SlotId> candidates_;  // that the router knows
    std::vector<Row> rows_;
    using Age = std::pair<std::uint64_t, LegKey>;

    // Flat: a step's legs are looked up some ten times each, and few.
    boost::container::flat_map<LegKey, std::unique_ptr<LegState>> legs_;  // newest attempt of each
    boost::container::flat_set<std::pair<int, Age>> queue_;  // backward first, then age
    boost::container::flat_set<LegKey> placing_;
    MicrobatchIds held_;
    std::size_t on_device_ = 0;
    std::uint64_t next_order_ = 0;
    bool sealed_ = false;
};

}  // namespace stages

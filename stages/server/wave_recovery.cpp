// Handles a recall, a link that is back, and a slot that is lost.
#include "stages/server/wave.hpp"

#include <algorithm>
#include <utility>

namespace stages {

using protocol::Leg;

namespace {

/// An offer that is recalled after waiting this long without PASSED counts as the peer's timeout.
constexpr swarm::Duration kOverdue = std::chrono::seconds(3);

}  // namespace

protocol::Held Wave::recall(const protocol::Recall& recall, node::Turn turn) {
    sealed_ = false;
    speeds_.forget_what_is_under_way();
    protocol::Held answer{recall.version, recall.epoch, {}, {}};
    if (recall.void_all) {
        held_.clear();
        for (Row& row : rows_) {
            row.floor = recall.epoch;
        }
        context_.device.submit(turn, 0, [worker = context_.worker] {
            worker->drop_all_graphs();
            worker->clear_accumulator();
        });
        router_->abandon_all(turn.now);
        legs_.clear();
        queue_.clear();
        placing_.clear();
        for (Row& row : rows_) {
            row.graph = {};
        }
    }
    for (const MicrobatchId id : recall.ids) {
        if (id.value >= rows_.size()) {
            continue;
        }
        Row& row = rows_[id.value];
        row.floor = std::max(row.floor, recall.epoch);
        for (const Leg direction : {Leg::Forward, Leg::Backward}) {
            const auto leg = legs_.find({id, direction});
            if (leg == legs_.end() || leg->second->id.attempt >= recall.epoch) {
                continue;
            }
            LegState& state = *leg->second;
            if (has_open_forward(state) && state.offered_at + kOverdue <= turn.now) {
                router_->timed_out(state.to, outgoing(state), turn.now);
            } else {
                abandon_offer(state, turn.now);
            }
            queue_.erase({direction == Leg::Backward ? 0 : 1, {state.order, leg->first}});
            placing_.erase(leg->first);
            legs_.erase(leg);
        }
        if (row.graph != Attempt{} && row.graph < recall.epoch) {
            drop_graph(id, row.graph, turn);
        }
        if (held_.contains(id)) {
            answer.ids.push_back(id);
            if (context_.is_tail()) {
                answer.losses.push_back(row.loss);
            }
        }
    }
    return answer;
}

bool Wave::has_open_forward(const LegState& leg) const {
    const bool open = leg.phase == LegPhase::Offered || leg.phase == LegPhase::Accepted;
    return open && outgoing(leg).leg == Leg::Forward;
}

void Wave::abandon_offer(const LegState& leg, TimePoint now) {
    if (has_open_forward(leg)) {
        router_->abandoned(leg.to, outgoing(leg), now);
    }
}

void Wave::drop_graph(MicrobatchId id, Attempt attempt, node::Turn turn) {
    rows_[id.value].graph = {};
    context_.device.submit(turn, 0, [worker = context_.worker, key = GraphKey{id, attempt}] {
        worker->drop_graph(key);
    });
}

void Wave::resend(PeerId peer, node::Turn turn) {
    const auto* const info = context_.roster.find_peer(peer);
    if (!info) {
        return;
    }
    for (auto& [key, state] : legs_) {
        LegState& leg = *state;
        if (leg.taken_in != context_.slot) {
            continue;  // the leg is of a fenced slot; a RECALL that voids it is on its way
        }
        if (leg.from == peer) {
            context_.answer(peer, protocol::Accepted{leg.id}, turn);
            if (leg.phase == LegPhase::Accepted || leg.phase == LegPhase::Done) {
                tell_passed(leg, turn);
            }
        }
        if (leg.to == info->slot && leg.phase == LegPhase::Offered) {
            leg.resent = true;
            send_offer(leg, turn);
        }
    }
}

void Wave::slot_lost(SlotId slot, node::Turn turn) {
    std::vector<protocol::FailedItem> items;
    for (auto& [key, state] : legs_) {
        LegState& leg = *state;
        if (leg.to != slot || leg.to == SlotId{}) {
            continue;
        }
        items.push_back({leg.id.microbatch, leg.id.attempt, leg.passed_there});
        abandon_offer(leg, turn.now);
        leg.output = {};
        leg.phase = LegPhase::Done;
        leg.to = {};
    }
    if (!items.empty()) {
        speeds_.forget_what_is_under_way();
        fail(slot, protocol::FailReason::Lost, std::move(items), turn);
    }
}

std::vector<MicrobatchId> Wave::never_came(const MicrobatchIds& ids) const {
    std::vector<MicrobatchId> found;
    for (const MicrobatchId id : ids) {
        if (!held_.contains(id) && !legs_.contains({id, Leg::Forward}) &&
            !legs_.contains({id, Leg::Backward})) {
            found.push_back(id);
        }
    }
    return found;
}

std::vector<SlotId> Wave::owing_gradients() const {
    std::vector<SlotId> slots;
    if (context_.is_tail()) {
        return slots;
    }
    for (const auto& [key, leg] : legs_) {
        const auto& [id, direction] = key;
        const bool needed =
            leg->mask.has(context_.stage()) || leg->mask.has_below(context_.stage());
        const bool awaited = direction == Leg::Forward && leg->to != SlotId{} && needed &&
                             !legs_.contains({id, Leg::Backward});
        if (awaited && std::ranges::find(slots, leg->to) == slots.end()) {
            slots.push_back(leg->to);
        }
    }
    return slots;
}

void Wave::fail(
    SlotId about,
    protocol::FailReason reason,
    std::vector<protocol::FailedItem> items,
    node::Turn turn
) {
    context_.tell_coordinator(
        protocol::Fail{*context_.version, about, reason, std::move(items)}, turn
    );
}

}  // namespace stages

// Fourth part of HopTable: calls of a device that lacks experts of its layers. A call is then a
// walk: a job up to the next layer whose router chose such an expert, requests to lenders, their
// answers, and the next job. One call is under way at a time, as without lenders; others wait.
#include "stacking/sessions/hop_table.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace stacking::sessions {

void HopTable::begin_walk(std::shared_ptr<DeviceCall> call, node::Turn turn) {
    for (const CallPiece& piece : call->pieces) {
        call->lacking.push_back(hops_.at(piece.key).lacking);
    }
    device_.submit(
        turn,
        call->rows,
        [compute = options_.compute, trunk = options_.trunk, bridge = options_.bridge, call] {
            call->begin(*compute, *trunk, bridge.get());
        },
        [this, call](node::Turn later) { walk(call, later); }
    );
}

void HopTable::walk(std::shared_ptr<DeviceCall> call, node::Turn turn) {
    if (call->failed || !call->stop) {
        return finish(*call, turn);
    }
    experts_->ask(*call->stop, turn);
    waiting_call_ = std::move(call);
    walk_on(turn);
}

/// Does what is due at the lenders, and goes on with the call once all have answered.
void HopTable::walk_on(node::Turn turn) {
    if (!experts_) {
        return;
    }
    experts_->wake(turn);
    if (!waiting_call_ || !experts_->is_done()) {
        return;
    }
    const auto call = std::exchange(waiting_call_, nullptr);
    auto outputs = std::make_shared<std::vector<std::vector<float>>>(experts_->take_outputs());
    for (std::size_t i = 0; i < outputs->size(); ++i) {
        const ExpertVisit& visit = call->stop->visits[i];
        if ((*outputs)[i].empty()) {
            leave_out(*call, visit, turn);
        } else {
            told_absent_.erase(visit.expert);
        }
    }
    device_.submit(
        turn,
        call->rows,
        [compute = options_.compute, trunk = options_.trunk, call, outputs] {
            call->go_on(*compute, *trunk, *outputs);
        },
        [this, call](node::Turn later) { walk(call, later); }
    );
}

/// Nobody lends the expert: the sessions of these rows go on without it, in all layers where it is
/// absent now.
void HopTable::leave_out(DeviceCall& call, const ExpertVisit& visit, node::Turn turn) {
    const LayerExpert here{call.stop->layer, visit.expert};
    auto absent = experts_->absent_like(here, turn.now);
    absent.push_back(here);
    std::uint32_t end = 0;  // end of the piece's rows
    for (std::size_t i = 0; i < call.pieces.size(); ++i) {
        const std::uint32_t first = std::exchange(end, end + call.pieces[i].frame.rows);
        const auto at = std::ranges::lower_bound(visit.rows, first);
        const auto hop = hops_.find(call.pieces[i].key);
        if (at == visit.rows.end() || *at >= end || hop == hops_.end() ||
            hop->second.cache != call.pieces[i].cache) {
            continue;
        }
        LackingExperts& lacking = hop->second.lacking;
        const bool is_new = std::ranges::none_of(lacking, [&](const LayerExpert& known) {
            return known.expert == visit.expert;
        });
        lacking.insert(absent.begin(), absent.end());
        call.lacking[i] = lacking;
        if (is_new) {
            const protocol::SessionLacks lacks{hop->second.open.id, {visit.expert}};
            send(hop->second.client, lacks, turn);
        }
    }
    if (told_absent_.insert(visit.expert).second) {
        turn.out.log(
            node::LogLine::Level::Warning,
            "nobody lends expert " + std::to_string(visit.expert) + " of layer " +
                std::to_string(call.stop->layer) + "; texts go on without it"
        );
    }
}

void HopTable::take(
    PeerId from,
    const protocol::ExpertOutputs& outputs,
    const node::Payload& payload,
    node::Turn turn
) {
    if (experts_) {
        experts_->take(from, outputs, payload, turn);
    }
}

void HopTable::take(PeerId from, const protocol::ExpertRefused& refused, node::Turn turn) {
    if (experts_) {
        experts_->take(from, refused, turn);
    }
}

void HopTable::take(const protocol::Located& located, node::Turn turn) {
    if (experts_ && located.model == options_.host.model) {
        experts_->take(located, turn);
    }
}

}  // namespace stacking::sessions

#include "stacking/sessions/experts/expert_calls.hpp"

#include "stacking/sessions/experts/expert_rows.hpp"
#include "swarm/base/check.hpp"

#include <algorithm>
#include <utility>

namespace stacking::sessions {

void ExpertCalls::ask(const ExpertStop& stop, node::Turn turn) {
    SWARM_ASSERT(visits_.empty());
    for (const ExpertVisit& visit : stop.visits) {
        auto payload = to_payload(visit.values, options_.width);
        SWARM_ASSERT(payload.has_value());  // the trunk sends only rows that are finite
        Visit added;
        added.which = {stop.layer, visit.expert};
        added.rows = static_cast<std::uint32_t>(visit.rows.size());
        added.bytes = std::move(*payload);
        visits_.push_back(std::move(added));
    }
    wake(turn);
}

ExpertCalls::Visit* ExpertCalls::find(PeerId from, std::uint64_t request) {
    const auto found = std::ranges::find_if(visits_, [&](const Visit& visit) {
        return visit.at == from && visit.request == request;
    });
    return found == visits_.end() ? nullptr : &*found;
}

/// The time from which on the visit ends without outputs.
TimePoint ExpertCalls::absent_at(const Visit& visit) const {
    const auto since = absent_since_.find(visit.which);
    return visit.missed && since != absent_since_.end() ? since->second + kAbsentMax
                                                        : swarm::kNever;
}

void ExpertCalls::take(
    PeerId from,
    const protocol::ExpertOutputs& outputs,
    const node::Payload& payload,
    node::Turn turn
) {
    Visit* const visit = find(from, outputs.request);
    if (visit == nullptr) {
        return;
    }
    visit->at.reset();
    auto values = from_payload(payload, visit->rows, options_.width);
    if (!values) {
        lenders_.refused(from, visit->rows, turn.now);
        return wake(turn);
    }
    lenders_.answered(from, visit->rows, turn.now - visit->sent_at);
    absent_since_.erase(visit->which);
    visit->outputs = std::move(*values);
    visit->ended = true;
    wake(turn);
}

void ExpertCalls::take(PeerId from, const protocol::ExpertRefused& refused, node::Turn turn) {
    Visit* const visit = find(from, refused.request);
    if (visit == nullptr) {
        return;
    }
    visit->at.reset();
    if (refused.busy) {
        lenders_.failed(from, visit->rows, turn.now);
    } else {
        lenders_.refused(from, visit->rows, turn.now);
    }
    wake(turn);
}

void ExpertCalls::take(const protocol::Located& located, node::Turn turn) {
    lenders_.learn(located, turn);
    wake(turn);
}

void ExpertCalls::linked(PeerId peer, node::Turn turn) {
    lenders_.linked(peer);
    std::erase_if(absent_since_, [&](const auto& item) {
        return lenders_.lends(peer, item.first);  // whoever appears has the whole time
    });
    wake(turn);
}

void ExpertCalls::lost(PeerId peer, node::Turn turn) {
    for (Visit& visit : visits_) {
        if (visit.at == peer) {
            visit.at.reset();
            lenders_.forget(peer, visit.rows);
        }
    }
    lenders_.lost(peer, turn.now);
    note_absent(peer, turn.now);
    wake(turn);
}

/// The time of an expert that nobody visits begins with the loss of its last lender, too: a text
/// does not wait for one expert after the other.
void ExpertCalls::note_absent(PeerId peer, TimePoint now) {
    const protocol::LayerRange hosted = options_.lenders.hosted;
    for (const std::uint32_t expert : options_.lenders.lacking.list()) {
        for (std::uint32_t layer = hosted.first; layer < hosted.end; ++layer) {
            const LayerExpert which{layer, expert};
            if (lenders_.lends(peer, which) && !lenders_.has_linked(which)) {
                absent_since_.try_emplace(which, now);
            }
        }
    }
}

void ExpertCalls::unreached(PeerId peer, node::Turn turn) {
    lenders_.lost(peer, turn.now);
    wake(turn);
}

void ExpertCalls::advance(Visit& visit, node::Turn turn) {
    if (visit.at && visit.silent_at <= turn.now) {
        lenders_.failed(*visit.at, visit.rows, turn.now);
        visit.at.reset();
    }
    if (!visit.at) {
        const auto choice = lenders_.choose(visit.which, visit.rows, turn.now);
        if (choice.lender) {
            visit.at = choice.lender;
            visit.request = ++requests_;
            visit.sent_at = turn.now;
            visit.silent_at = turn.now + lenders_.sent(*choice.lender, visit.rows);
            const protocol::ExpertRows rows{
                visit.request,
                options_.lenders.weights,
                visit.which.layer,
                visit.which.expert,
                visit.rows};
            send(*choice.lender, rows, turn, visit.bytes);
        } else if (!choice.all_busy) {
            visit.missed = true;
            absent_since_.try_emplace(visit.which, turn.now);
        }
    }
    if (absent_at(visit) <= turn.now) {
        if (visit.at) {
            lenders_.forget(*visit.at, visit.rows);
            visit.at.reset();
        }
        visit.ended = true;
        // Whoever visits the expert at another layer, where it is absent too, need not wait again.
        const TimePoint since = absent_since_.at(visit.which);
        for (const LayerExpert& other : absent_like(visit.which, turn.now)) {
            absent_since_.try_emplace(other, since);
        }
    }
}

void ExpertCalls::wake(node::Turn turn) {
    now_ = turn.now;
    if (!visits_.empty()) {
        lenders_.dial(turn);
    }
    for (Visit& visit : visits_) {
        if (!visit.ended) {
            advance(visit, turn);
        }
    }
}

TimePoint ExpertCalls::next_deadline() const {
    TimePoint due = swarm::kNever;
    for (const Visit& visit : visits_) {
        if (visit.ended) {
            continue;
        }
        due = std::min(due, visit.at ? visit.silent_at : lenders_.next_deadline(now_));
        due = std::min(due, absent_at(visit));
    }
    return due;
}

bool ExpertCalls::is_waiting() const {
    return std::ranges::any_of(visits_, [](const Visit& visit) {
        return !visit.ended && !visit.at;
    });
}

bool ExpertCalls::is_done() const {
    return !visits_.empty() &&
           std::ranges::all_of(visits_, [](const Visit& visit) { return visit.ended; });
}

std::vector<LayerExpert> ExpertCalls::absent_like(const LayerExpert& which, TimePoint now) const {
    std::vector<LayerExpert> found;
    const protocol::LayerRange hosted = options_.lenders.hosted;
    for (std::uint32_t layer = hosted.first; layer < hosted.end; ++layer) {
        const LayerExpert other{layer, which.expert};
        const auto choice = lenders_.choose(other, 1, now);
        if (!choice.lender && !choice.all_busy && !lenders_.has_another(other, which)) {
            found.push_back(other);
        }
    }
    return found;
}

std::vector<std::vector<float>> ExpertCalls::take_outputs() {
    std::vector<std::vector<float>> outputs;
    for (Visit& visit : visits_) {
        outputs.push_back(std::move(visit.outputs));
    }
    visits_.clear();
    return outputs;
}

}  // namespace stacking::sessions

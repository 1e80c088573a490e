// Peers that cannot reach each other: the coordinator keeps them out of each other's neighbourhood
// where others are there, and else says who cannot reach whom.
#include "swarm/base/peer_name.hpp"
#include "swarm/coordinator/coordinator.hpp"

#include <algorithm>
#include <utility>

namespace swarm::coordinator {

using protocol::SlotInfo;
using protocol::Standing;

namespace {

std::string described(const SlotInfo& info) {
    return "peer " + to_short_text(info.peer) + " of stage " + std::to_string(info.stage.value) +
           " at " + info.address;
}

}  // namespace

void Coordinator::part_those_cut_off(
    PeerId from, const std::vector<SlotId>& cut_off, node::Turn turn
) {
    std::vector<PeerId> named;
    for (const SlotId slot : cut_off) {
        if (const SlotInfo* const info = context_.roster.find(slot)) {
            named.push_back(info->peer);
        }
    }
    for (const PeerId other : reachability_.note(from, std::move(named), turn.now)) {
        const SlotInfo* const one = context_.roster.find_peer(from);
        const SlotInfo* const two = context_.roster.find_peer(other);
        if (!one || !two) {
            continue;
        }
        // The later one yields, because less of the run is at it.
        const bool one_is_later = two->slot < one->slot;
        const std::pair later{one_is_later ? from : other, one_is_later ? other : from};
        if (may_yield(later.first, later.second, turn.now)) {
            yield(later.first, later.second, turn);
        } else if (may_yield(later.second, later.first, turn.now)) {
            yield(later.second, later.first, turn);
        } else if (reachability_.is_untold(from, other)) {
            turn.out.log(
                node::LogLine::Level::Warning,
                described(*one) + " and " + described(*two) +
                    " cannot reach each other, and there is nobody else for their stages: open or "
                    "forward the port of one of them, or let another peer join"
            );
        }
    }
}

bool Coordinator::may_yield(PeerId peer, PeerId other, TimePoint now) const {
    const SlotInfo& info = *context_.roster.find_peer(peer);
    const std::vector<SlotId> pickable = context_.roster.pickable(info.stage);
    const auto others = std::ranges::count_if(pickable, [&](SlotId slot) {
        const PeerId that = context_.roster.find(slot)->peer;
        return that != peer && context_.peer_streams.is_linked(that) &&
               !reachability_.are_apart(that, other, now);
    });
    return std::cmp_greater_equal(others, std::max(context_.config.min_holders, 1U));
}

void Coordinator::yield(PeerId peer, PeerId other, node::Turn turn) {
    const std::string reason = "peer " + to_short_text(other) + " and it cannot reach each other";
    lose(peer, reason, IfLast::Keep, turn);
    // A peer without a slot would hear of it at its next heartbeat.
    context_.peer_streams.send(peer, context_.roster.message(), turn);
}

std::optional<PeerId> Coordinator::unreached_near(PeerId peer, StageIndex stage, TimePoint now)
    const {
    if (reachability_.pairs() == 0) {
        return std::nullopt;
    }
    const auto tied = run::tied_stage(context_.config, stage);
    for (const SlotInfo& info : context_.roster.slots()) {
        const bool is_near =
            info.stage.value <= stage.value + 1 && stage.value <= info.stage.value + 1;
        if ((is_near || tied == info.stage) && reachability_.are_apart(peer, info.peer, now)) {
            return info.peer;
        }
    }
    return std::nullopt;
}

void Coordinator::send_to_standby(PeerId peer, node::Turn turn) {
    for (const run::StageLayout& layout : context_.layouts) {
        if (const auto unreached = unreached_near(peer, layout.stage, turn.now)) {
            context_.peer_streams.post(peer, protocol::Standby{*unreached}, {}, turn);
            return;
        }
    }
}

}  // namespace swarm::coordinator

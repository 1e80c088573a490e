// The stage of a newcomer, and how a peer changes its stage. A mover drains, leaves its slot at a
// commit, and joins the other stage as an observer with a download. Its sums are not lost, because
// the commit took them. It keeps its state until another peer of the stage has applied that commit,
// and returns if none does, because a stage must not lose its last replica to a move.
#include "swarm/coordinator/coordinator.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace swarm::coordinator {

using protocol::SlotInfo;
using protocol::Standing;

void Coordinator::begin_moves(const std::vector<router::Move>& moves, node::Turn turn) {
    if (moves.empty()) {
        return;
    }
    // A mover that left its slot and has not joined the other stage within a period may not do so
    // later.
    std::erase_if(moving_, [&](const auto& entry) {
        return !context_.roster.find_peer(entry.first);
    });
    for (const router::Move& move : moves) {
        const SlotInfo& info = *context_.roster.find(move.slot);
        if (context_.roster.pickable(info.stage).size() <= context_.config.min_holders) {
            continue;  // the rest of the stage could not commit
        }
        if (unreached_near(info.peer, move.to, turn.now)) {
            continue;
        }
        moving_[info.peer] = move.to;
        context_.roster.set_standing(move.slot, Standing::Draining);
    }
    launcher_.refresh(turn.now);
}

bool Coordinator::release_mover(const SlotInfo& info, node::Turn turn) {
    const auto moving = moving_.find(info.peer);
    if (moving == moving_.end()) {
        return false;
    }
    const std::vector<SlotId> members = context_.roster.members(info.stage);
    const auto others = std::count_if(members.begin(), members.end(), [&](SlotId slot) {
        const SlotInfo& other = *context_.roster.find(slot);
        return slot != info.slot && other.standing == Standing::Member &&
               context_.peer_streams.is_linked(other.peer);
    });
    // The others are dead, or will soon be found dead, so the mover may be the last with the state.
    if (std::cmp_less(others, context_.config.min_holders)) {
        context_.roster.set_standing(info.slot, Standing::Member);
        moving_.erase(moving);
        return true;
    }
    left_at_commit_[info.peer] = info.stage;
    context_.roster.remove(info.slot);
    context_.detector.forget(info.peer);
    context_.tell(
        node::PeerChange::Moved,
        info,
        "moves to stage " + std::to_string(moving->second.value),
        turn
    );
    return true;
}

bool Coordinator::may_be_needed_back(PeerId mover) const {
    const auto left = left_at_commit_.find(mover);
    if (left == left_at_commit_.end()) {
        return false;
    }
    const std::vector<SlotId> members = context_.roster.members(left->second);
    return std::ranges::none_of(members, [&](SlotId slot) {
        return votes_.has_spoken(left->second, context_.roster.find(slot)->peer);
    });
}

// A move is decided before the death of another peer in the same moment is known.
void Coordinator::call_back_movers(StageIndex stage, node::Turn turn) {
    for (const auto& [mover, from] : left_at_commit_) {
        const auto waiting = waiting_joins_.find(mover);
        if (from != stage || waiting == waiting_joins_.end()) {
            continue;
        }
        moving_.erase(mover);
        turn.out.log(
            node::LogLine::Level::Warning,
            "a peer on its way to another stage goes back to stage " + std::to_string(stage.value) +
                ": nobody else has its state"
        );
        const protocol::Join join = waiting->second;
        waiting_joins_.erase(waiting);
        consider_state(mover, join, turn);
    }
}

std::optional<StageIndex> Coordinator::neediest_stage(PeerId newcomer, TimePoint now) const {
    std::vector<std::uint32_t> peers(context_.config.stages, 0);
    for (const protocol::SlotInfo& info : context_.roster.slots()) {
        // A peer whose link is gone is most likely dead, even before its two seconds are over.
        peers[info.stage.value] += context_.peer_streams.is_linked(info.peer) ? 1 : 0;
    }
    for (const auto& [peer, stage] : assigned_) {
        if (!context_.roster.find_peer(peer)) {
            ++peers[stage.value];
        }
    }
    std::vector<StageIndex> stages;
    for (const run::StageLayout& layout : context_.layouts) {
        stages.push_back(layout.stage);
    }
    const auto end = std::partition(stages.begin(), stages.end(), [&](StageIndex stage) {
        return context_.fits(newcomer, stage);
    });
    const auto last = end == stages.begin() ? stages.end() : end;
    stages.erase(last, stages.end());
    // A stage beside a peer that the newcomer cannot reach is better than none where the stage has
    // nobody: one of the two may open a port.
    std::erase_if(stages, [&](StageIndex stage) {
        return peers[stage.value] > 0 && unreached_near(newcomer, stage, now);
    });
    const auto rank = [&](StageIndex stage) {
        return std::tuple(
            unreached_near(newcomer, stage, now).has_value(), peers[stage.value], stage
        );
    };
    const auto least = std::ranges::min_element(stages, {}, rank);
    return least == stages.end() ? std::nullopt : std::optional(*least);
}

std::optional<StageIndex> Coordinator::stage_for(PeerId peer, TimePoint now) {
    if (const auto moving = moving_.find(peer); moving != moving_.end()) {
        const StageIndex stage = moving->second;
        moving_.erase(moving);
        return stage;
    }
    const std::optional<StageIndex> neediest = neediest_stage(peer, now);
    if (!neediest || context_.roster.members(*neediest).empty() ||
        context_.version == ParameterVersion{}) {
        return neediest;
    }
    // A peer whose link is gone is most likely dead, even before its two seconds are over.
    const auto is_there = [&](PeerId other) { return context_.peer_streams.is_linked(other); };
    const auto best = placement_.place(context_.roster, now, is_there);
    const bool is_best = best && context_.fits(peer, *best) && !unreached_near(peer, *best, now);
    return is_best ? best : neediest;
}

}  // namespace swarm::coordinator

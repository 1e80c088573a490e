#include "stages/server/peer_links.hpp"

#include "swarm/base/peer_name.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace stages {
namespace {

constexpr swarm::Duration kPauseFirst = std::chrono::milliseconds(50);
constexpr swarm::Duration kPauseMax = std::chrono::seconds(2);

bool is_near(StageIndex stage, StageIndex own) {
    return stage.value <= own.value + 1 && own.value <= stage.value + 1;
}

std::string name_of(PeerId peer, StageIndex stage) {
    return "peer " + swarm::to_short_text(peer) + ", stage " + std::to_string(stage.value);
}

}  // namespace

std::vector<SlotId> PeerLinks::follow_roster(node::Turn turn) {
    std::vector<SlotId> near;
    const std::uint32_t own = context_.stage().value;
    for (std::uint32_t stage = own - std::min(own, 1U); stage <= own + 1; ++stage) {
        const auto slots = context_.roster.slots_of({stage});
        near.insert(near.end(), slots.begin(), slots.end());
    }
    if (context_.tied && !is_near(context_.tied->stage, context_.stage())) {
        const auto slots = context_.roster.slots_of(context_.tied->stage);
        near.insert(near.end(), slots.begin(), slots.end());
    }
    if (near == followed_) {
        return {};  // most changes concern other stages, and of a slot only the standing changes
    }
    followed_ = std::move(near);
    Neighbours wanted = listed();
    std::vector<SlotId> gone;
    for (auto& [peer, old] : neighbours_) {
        const auto kept = wanted.find(peer);
        if (kept != wanted.end()) {
            kept->second.failing_since = old.failing_since;
            kept->second.warned = old.warned;
        }
        if (kept == wanted.end() || kept->second.slot != old.slot) {
            gone.push_back(old.slot);
        }
        if (kept != wanted.end() && kept->second.incarnation == old.incarnation) {
            kept->second.lanes = old.lanes;
            kept->second.lost_at = old.lost_at;
            kept->second.was_linked = old.was_linked;
        } else if (kept == wanted.end()) {
            for (const auto lane : {node::Lane::Control, node::Lane::Bulk}) {
                if (wire(old, lane).up) {
                    early_[{peer, lane}] = old.incarnation;
                }
            }
        }
    }
    neighbours_ = std::move(wanted);
    due_.clear();
    for (auto& [peer, neighbour] : neighbours_) {
        for (const auto lane : {node::Lane::Control, node::Lane::Bulk}) {
            const auto early = early_.find({peer, lane});
            if (early != early_.end() && early->second == neighbour.incarnation) {
                wire(neighbour, lane).up = true;
                early_.erase(early);
            }
            Wire& line = wire(neighbour, lane);
            if (!line.up && line.dial_at == swarm::kNever) {
                line.dial_at = turn.now;
            }
        }
        neighbour.was_linked = is_linked(peer);
        if (neighbour.was_linked) {
            note_reached(peer, neighbour, turn);
        }
        dial_due(peer, neighbour, turn);
        reschedule(peer, neighbour);
    }
    return gone;
}

PeerLinks::Neighbours PeerLinks::listed() const {
    std::vector<std::pair<PeerId, SlotId>> peers;
    peers.reserve(followed_.size());
    for (const SlotId slot : followed_) {
        peers.emplace_back(context_.roster.find(slot)->peer, slot);
    }
    std::ranges::stable_sort(peers, {}, &std::pair<PeerId, SlotId>::first);
    Neighbours neighbours;
    neighbours.reserve(peers.size());
    for (const auto& [peer, slot] : peers) {
        const protocol::SlotInfo& info = *context_.roster.find(slot);
        if (peer != context_.self) {
            Neighbour neighbour{slot, info.incarnation, info.address, info.stage};
            neighbours.insert_or_assign(neighbours.end(), peer, std::move(neighbour));
        }
    }
    return neighbours;
}

void PeerLinks::dial_due(PeerId peer, Neighbour& neighbour, node::Turn turn) {
    if (context_.self > peer) {
        for (Wire& line : neighbour.lanes) {
            line.dial_at = swarm::kNever;  // the other side dials
        }
        return;
    }
    for (const auto lane : {node::Lane::Control, node::Lane::Bulk}) {
        Wire& line = wire(neighbour, lane);
        if (line.up || line.dial_at > turn.now) {
            continue;
        }
        line.dial_at = swarm::kNever;
        if (dialing_.insert({peer, lane}).second) {
            turn.out.add(node::Dial{peer, lane, neighbour.address});
        }
    }
}

bool PeerLinks::on(const node::LinkUp& up, node::Turn turn) {
    dialing_.erase({up.peer, up.lane});
    const auto found = neighbours_.find(up.peer);
    if (found == neighbours_.end()) {
        early_[{up.peer, up.lane}] = up.incarnation;
        return false;
    }
    Neighbour& neighbour = found->second;
    Wire& line = wire(neighbour, up.lane);
    line.pause = kPauseFirst;
    if (up.incarnation != neighbour.incarnation) {
        early_[{up.peer, up.lane}] = up.incarnation;  // the roster with its new slot is to come
        line.up = false;
        if (neighbour.lost_at != swarm::kNever || neighbour.was_linked) {
            neighbour.lost_at = swarm::kNever;
            neighbour.was_linked = false;
            lost_.push_back(up.peer);
        }
        reschedule(up.peer, neighbour);
        return false;
    }
    line.up = true;
    const bool both = is_linked(up.peer);
    if (both) {
        neighbour.lost_at = swarm::kNever;
        note_reached(up.peer, neighbour, turn);
    }
    reschedule(up.peer, neighbour);
    return both && !std::exchange(neighbour.was_linked, both);
}

void PeerLinks::on(const node::LinkDown& down, node::Turn turn) {
    early_.erase({down.peer, down.lane});
    const auto found = neighbours_.find(down.peer);
    if (found == neighbours_.end()) {
        return;
    }
    Neighbour& neighbour = found->second;
    Wire& line = wire(neighbour, down.lane);
    // If the link was another incarnation's, the lane is down already. It is dialled here unless a
    // dial is due or under way, because nobody else dials it.
    const bool is_redialed =
        line.dial_at != swarm::kNever || dialing_.contains({down.peer, down.lane});
    if (!std::exchange(line.up, false) && is_redialed) {
        return;
    }
    line.dial_at = turn.now + line.pause;
    if (neighbour.was_linked) {
        neighbour.was_linked = false;
        neighbour.lost_at = turn.now;
    }
    dial_due(down.peer, neighbour, turn);
    reschedule(down.peer, neighbour);
}

void PeerLinks::on(const node::DialFailed& failed, node::Turn turn) {
    dialing_.erase({failed.peer, failed.lane});
    const auto found = neighbours_.find(failed.peer);
    if (found != neighbours_.end()) {
        Wire& line = wire(found->second, failed.lane);
        line.pause = std::min(2 * line.pause, kPauseMax);
        line.dial_at = turn.now + line.pause;
        reschedule(failed.peer, found->second);
        note_failure(failed, found->second, turn);
    }
}

void PeerLinks::note_failure(
    const node::DialFailed& failed, Neighbour& neighbour, node::Turn turn
) {
    neighbour.failing_since = std::min(neighbour.failing_since, turn.now);
    if (neighbour.warned || turn.now - neighbour.failing_since < kWarnAfter) {
        return;
    }
    neighbour.warned = true;
    turn.out.log(
        node::LogLine::Level::Warning,
        name_of(failed.peer, neighbour.stage) + ": cannot be reached at " + neighbour.address +
            " for " + std::to_string(kWarnAfter / std::chrono::seconds(1)) +
            " s: " + failed.error.detail + "; it is dialled again and again"
    );
}

void PeerLinks::note_reached(PeerId peer, Neighbour& neighbour, node::Turn turn) {
    neighbour.failing_since = swarm::kNever;
    if (std::exchange(neighbour.warned, false)) {
        turn.out.log(
            node::LogLine::Level::Info,
            name_of(peer, neighbour.stage) + ": is reached at " + neighbour.address
        );
    }
}

void PeerLinks::wake(node::Turn turn) {
    while (next_deadline() <= turn.now) {
        const PeerId peer = due_.begin()->second;
        Neighbour& neighbour = neighbours_.at(peer);
        if (neighbour.lost_at != swarm::kNever && neighbour.lost_at + kRestoreWithin <= turn.now) {
            neighbour.lost_at = swarm::kNever;
            lost_.push_back(peer);
        }
        dial_due(peer, neighbour, turn);
        reschedule(peer, neighbour);
    }
}

void PeerLinks::reschedule(PeerId peer, Neighbour& neighbour) {
    due_.erase({neighbour.due, peer});
    neighbour.due = swarm::kNever;
    if (neighbour.lost_at != swarm::kNever) {
        neighbour.due = neighbour.lost_at + kRestoreWithin;
    }
    for (const Wire& line : neighbour.lanes) {
        if (!line.up) {
            neighbour.due = std::min(neighbour.due, line.dial_at);
        }
    }
    if (neighbour.due != swarm::kNever) {
        due_.insert({neighbour.due, peer});
    }
}

bool PeerLinks::is_linked(PeerId peer) const {
    const auto found = neighbours_.find(peer);
    return found != neighbours_.end() && found->second.lanes[0].up && found->second.lanes[1].up;
}

}  // namespace stages

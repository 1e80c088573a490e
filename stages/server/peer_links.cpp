#include "stages/server/peer_links.hpp"

#include "swarm/base/peer_name.hpp"
#include "swarm/protocol/limits.hpp"

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
            kept->second.apart_since = old.apart_since;
            kept->second.trouble = old.trouble;
            kept->second.is_cut_off = old.is_cut_off;
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
    cut_off_count_ = 0;
    for (auto& [peer, neighbour] : neighbours_) {
        cut_off_count_ += neighbour.is_cut_off ? 1U : 0U;
        for (const auto lane : {node::Lane::Control, node::Lane::Bulk}) {
            const auto early = early_.find({peer, lane});
            if (early != early_.end() && early->second == neighbour.incarnation) {
                wire(neighbour, lane).up = true;
                early_.erase(early);
            }
            Wire& line = wire(neighbour, lane);
            if (!line.up && line.dial_at == swarm::kNever) {
                line.dial_at = turn.now + head_start(peer);
            }
        }
        neighbour.was_linked = is_linked(peer);
        if (neighbour.was_linked) {
            note_reached(peer, neighbour, turn);
        } else {
            neighbour.apart_since = std::min(neighbour.apart_since, turn.now);
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

swarm::Duration PeerLinks::head_start(PeerId peer) const {
    return context_.self > peer ? kHeadStart : swarm::Duration{};
}

void PeerLinks::dial_due(PeerId peer, Neighbour& neighbour, node::Turn turn) {
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
    if (up.dialed) {
        dialing_.erase({up.peer, up.lane});
    }
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
    line.dial_at = swarm::kNever;
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
    // dial is due or under way.
    const bool is_redialed =
        line.dial_at != swarm::kNever || dialing_.contains({down.peer, down.lane});
    if (!std::exchange(line.up, false) && is_redialed) {
        return;
    }
    line.dial_at = turn.now + line.pause + head_start(down.peer);
    if (neighbour.was_linked) {
        neighbour.was_linked = false;
        neighbour.lost_at = turn.now;
        neighbour.apart_since = turn.now;
    }
    dial_due(down.peer, neighbour, turn);
    reschedule(down.peer, neighbour);
}

void PeerLinks::on(const node::DialFailed& failed, node::Turn turn) {
    dialing_.erase({failed.peer, failed.lane});
    const auto found = neighbours_.find(failed.peer);
    if (found == neighbours_.end()) {
        return;
    }
    Neighbour& neighbour = found->second;
    Wire& line = wire(neighbour, failed.lane);
    if (line.up) {
        return;  // the other side's dial was first
    }
    line.pause = std::min(2 * line.pause, kPauseMax);
    line.dial_at = turn.now + line.pause;
    neighbour.trouble = failed.error.detail;
    look_at(failed.peer, neighbour, turn);
    reschedule(failed.peer, neighbour);
}

void PeerLinks::look_at(PeerId peer, Neighbour& neighbour, node::Turn turn) {
    const bool is_due =
        neighbour.apart_since != swarm::kNever && neighbour.apart_since + kCutOffAfter <= turn.now;
    if (!is_due || neighbour.trouble.empty() || std::exchange(neighbour.is_cut_off, true)) {
        return;
    }
    newly_cut_off_ = true;
    ++cut_off_count_;
    const protocol::SlotInfo* const own = context_.roster.find_peer(context_.self);
    turn.out.log(
        node::LogLine::Level::Warning,
        name_of(peer, neighbour.stage) + ": no link for " +
            std::to_string(kCutOffAfter / std::chrono::seconds(1)) + " s; this peer dials " +
            neighbour.address + " (" + neighbour.trouble + "), and the other has to dial " +
            (own ? own->address : std::string("this one")) +
            "; one of the two needs a port that the other reaches: forward one, and name it with "
            "--advertise"
    );
}

void PeerLinks::note_reached(PeerId peer, Neighbour& neighbour, node::Turn turn) {
    neighbour.apart_since = swarm::kNever;
    neighbour.trouble.clear();
    if (std::exchange(neighbour.is_cut_off, false)) {
        --cut_off_count_;
        turn.out.log(
            node::LogLine::Level::Info, name_of(peer, neighbour.stage) + ": the link is there"
        );
    }
}

std::vector<SlotId> PeerLinks::cut_off() const {
    std::vector<SlotId> slots;
    if (cut_off_count_ == 0) {
        return slots;
    }
    for (const auto& [peer, neighbour] : neighbours_) {
        if (neighbour.is_cut_off && slots.size() < protocol::kCutOffMax) {
            slots.push_back(neighbour.slot);
        }
    }
    return slots;
}

void PeerLinks::wake(node::Turn turn) {
    while (next_deadline() <= turn.now) {
        const PeerId peer = due_.begin()->second;
        Neighbour& neighbour = neighbours_.at(peer);
        if (neighbour.lost_at != swarm::kNever && neighbour.lost_at + kRestoreWithin <= turn.now) {
            neighbour.lost_at = swarm::kNever;
            lost_.push_back(peer);
        }
        look_at(peer, neighbour, turn);
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
    if (!neighbour.is_cut_off && !neighbour.trouble.empty()) {
        neighbour.due = std::min(neighbour.due, neighbour.apart_since + kCutOffAfter);
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

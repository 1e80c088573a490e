#include "stacking/head_links.hpp"

#include <algorithm>

namespace stacking {

using node::Lane;
using swarm::protocol::Standing;

bool HeadLinks::Head::is_idle() const {
    return std::none_of(lanes.begin(), lanes.end(), [](const Wire& line) {
        return line.up || line.dialing;
    });
}

void HeadLinks::follow(const swarm::run::Roster& roster, node::Turn turn) {
    for (auto& [peer, head] : heads_) {
        head.listed = head.pickable = false;
    }
    for (const swarm::protocol::SlotInfo& info : roster.slots()) {
        if (info.stage.value == 0 && info.standing != Standing::Observer) {
            Head& head = heads_[info.peer];
            head.address = info.address;
            head.listed = true;
            head.pickable = info.standing == Standing::Member;
            if (head.is_idle() && head.dial_at == swarm::kNever) {
                head.dial_at = turn.now;
            }
        }
    }
    drop_unlisted(turn);
    dial_due(turn);
}

void HeadLinks::drop_unlisted(node::Turn turn) {
    for (auto& [peer, head] : heads_) {
        for (const Lane lane : {Lane::Control, Lane::Bulk}) {
            if (!head.listed && wire(head, lane).up) {
                turn.out.add(node::Close{peer, lane});  // LinkDown follows
            }
        }
    }
    std::erase_if(heads_, [](const auto& entry) {
        return !entry.second.listed && entry.second.is_idle();
    });
}

std::size_t HeadLinks::open_heads() const {
    return static_cast<std::size_t>(std::count_if(
        heads_.begin(), heads_.end(), [](const auto& entry) { return !entry.second.is_idle(); }
    ));
}

void HeadLinks::dial_due(node::Turn turn) {
    std::size_t open = open_heads();
    for (auto& [peer, head] : heads_) {
        const bool may = head.listed && (!head.is_idle() || open < kHeadsMax);
        if (!may || head.dial_at > turn.now) {
            continue;
        }
        open += head.is_idle() ? 1 : 0;
        head.dial_at = swarm::kNever;
        for (const Lane lane : {Lane::Control, Lane::Bulk}) {
            Wire& line = wire(head, lane);
            if (!line.up && !line.dialing) {
                line.dialing = true;
                turn.out.add(node::Dial{peer, lane, head.address});
            }
        }
    }
}

void HeadLinks::on(const node::LinkUp& up, node::Turn turn) {
    const auto found = heads_.find(up.peer);
    if (found == heads_.end()) {
        turn.out.add(node::Close{up.peer, up.lane});  // no peer has a reason to dial a client
        return;
    }
    Head& head = found->second;
    wire(head, up.lane) = {.up = true, .dialing = false};
    if (head.is_linked()) {
        head.pause = kPauseFirst;
    }
    if (!head.listed) {
        turn.out.add(node::Close{up.peer, up.lane});
    }
}

void HeadLinks::on(const node::LinkDown& down, node::Turn turn) {
    const auto found = heads_.find(down.peer);
    if (found == heads_.end()) {
        return;
    }
    wire(found->second, down.lane).up = false;
    found->second.dial_at = turn.now + found->second.pause;
    drop_unlisted(turn);
}

void HeadLinks::on(const node::DialFailed& failed, node::Turn turn) {
    const auto found = heads_.find(failed.peer);
    if (found == heads_.end()) {
        return;
    }
    Head& head = found->second;
    wire(head, failed.lane).dialing = false;
    head.dial_at = turn.now + head.pause;
    head.pause = std::min(2 * head.pause, kPauseMax);
    drop_unlisted(turn);
    dial_due(turn);  // another member may take the place of the failed one
}

void HeadLinks::wake(node::Turn turn) {
    for (auto& [peer, head] : heads_) {
        if (head.rests_until <= turn.now) {
            head.rests_until = swarm::kAtOnce;
        }
    }
    dial_due(turn);
}

TimePoint HeadLinks::next_deadline() const {
    const bool has_room = open_heads() < kHeadsMax;
    TimePoint due = swarm::kNever;
    for (const auto& [peer, head] : heads_) {
        if (head.listed && (has_room || !head.is_idle())) {
            due = std::min(due, head.dial_at);
        }
        if (head.rests_until != swarm::kAtOnce) {
            due = std::min(due, head.rests_until);
        }
    }
    return due;
}

std::optional<PeerId> HeadLinks::pick(TimePoint now) {
    Head* best = nullptr;
    PeerId chosen;
    for (auto& [peer, head] : heads_) {
        const bool ready = head.pickable && head.is_linked() && head.rests_until <= now;
        if (ready && (best == nullptr || head.picked < best->picked)) {
            best = &head;
            chosen = peer;
        }
    }
    if (best == nullptr) {
        return std::nullopt;
    }
    best->picked = ++picks_;
    return chosen;
}

void HeadLinks::succeeded(PeerId peer) {
    const auto found = heads_.find(peer);
    if (found != heads_.end()) {
        found->second.rest = kPauseFirst;
        found->second.rests_until = swarm::kAtOnce;
    }
}

void HeadLinks::rest(PeerId peer, TimePoint now) {
    const auto found = heads_.find(peer);
    if (found != heads_.end()) {
        Head& head = found->second;
        head.rests_until = now + head.rest;
        head.rest = std::min(2 * head.rest, kPauseMax);
    }
}

}  // namespace stacking

// The part of World that makes links: they come up and end at one side and at the other.
#include "sim/world.hpp"
#include "swarm/base/check.hpp"

#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

namespace sim {

void World::perform(Process& actor, node::Dial& dial) {
    const PeerIndex* remote = find_dialed(dial);
    if (remote == nullptr || *remote == actor.index) {
        // The failure is not told at once: a role that dials again without pause would never end
        // its turn.
        actor.dials_to_nobody.push_back({dial.peer, dial.lane});
        const Item item{.kind = ItemKind::DialToNobody, .peer = actor.index, .value = actor.life};
        return queue_.push(now_ + network_.latency_max(), item);
    }
    const bool anybody = dial.peer == PeerId{};
    const DialKey key{{*remote, dial.lane}, anybody};
    SWARM_ASSERT(!actor.dialing.contains(key));
    const std::uint64_t name =
        name_bits(actor.self, name_bits(processes_[*remote]->self, ++actor.dials)) +
        (dial.lane == Lane::Bulk ? 1 : 0);
    const LinkId id = network_.open(actor.index, *remote, dial.lane, name);
    actor.dialing[key] = id;
    Link& link = *network_.find(id);
    link.to_anybody = anybody;
    link.incarnations[Side::Dialer] = actor.incarnation;
    Item item{.kind = ItemKind::DialArrives, .peer = *remote};
    item.index = id.index;
    item.generation = id.generation;
    if (!processes_[*remote]->behind_router) {
        queue_.push(network_.arrival_time(link, Side::Listener, now_), item);
    }
    item.kind = ItemKind::DialTimesOut;
    item.peer = actor.index;
    queue_.push(now_ + options_.dial_timeout, item);
}

const PeerIndex* World::find_dialed(const node::Dial& dial) const {
    constexpr std::string_view kScheme = "sim:";
    if (dial.peer != PeerId{} || !dial.address.starts_with(kScheme)) {
        return find_peer(dial.peer);
    }
    std::uint64_t n = 0;
    const char* const end = dial.address.data() + dial.address.size();
    const auto parsed = std::from_chars(dial.address.data() + kScheme.size(), end, n);
    return parsed.ec == std::errc{} && parsed.ptr == end ? find_peer(peer(n)) : nullptr;
}

void World::fail_dial(Process& target, PeerId dialed, Lane lane) {
    swarm::Error error{
        swarm::ErrorCode::Unreachable,
        swarm::Reaction::Retry,
        "no link to the peer: it does not run or cannot be reached; dial again later"};
    deliver(target, node::DialFailed{dialed, lane, std::move(error)});
}

void World::perform(Process& actor, node::Close& close) {
    if (const PeerIndex* remote = find_peer(close.peer)) {
        end_link(actor, {*remote, close.lane});
    }
}

void World::dial_arrives(Process& target, LinkId id) {
    Link* link = network_.find(id);
    if (link == nullptr || link->ends[Side::Listener] != End::Pending) {
        return;
    }
    Item answer{.kind = ItemKind::DialAccepted, .peer = link->peers[Side::Dialer]};
    answer.index = id.index;
    answer.generation = id.generation;
    const TimePoint answer_at = network_.arrival_time(*link, Side::Dialer, now_);
    const bool refused = fault_points_.fires(FaultPoint::DialArrives, target.index, target.crashes);
    if (target.runner && !refused) {
        link->incarnations[Side::Listener] = target.incarnation;
        queue_.push(answer_at, answer);
        bring_up(target, id, Side::Listener);
        if (crashes_here(FaultPoint::LinkComesUp, target)) {
            crash(target);
        }
    } else {
        answer.kind = ItemKind::DialRefused;
        queue_.push(answer_at, answer);
        network_.close(id, Side::Listener);
    }
}

void World::dial_accepted(Process& target, LinkId id) {
    const Link* link = network_.find(id);
    if (link == nullptr) {
        return;
    }
    if (link->ends[Side::Dialer] == End::Pending) {
        target.dialing.erase({{link->peers[Side::Listener], link->lane}, link->to_anybody});
        bring_up(target, id, Side::Dialer);
        if (crashes_here(FaultPoint::LinkComesUp, target)) {
            crash(target);
        }
    } else {
        // The dialer has given up waiting for the link: the listener must hear of it.
        hang_up(id, Side::Dialer);
    }
}

void World::dial_failed(Process& target, LinkId id) {
    const Link* link = network_.find(id);
    if (link == nullptr || link->ends[Side::Dialer] != End::Pending) {
        return;
    }
    const PeerIndex remote = link->peers[Side::Listener];
    const Lane lane = link->lane;
    const bool anybody = link->to_anybody;
    target.dialing.erase({{remote, lane}, anybody});
    network_.close(id, Side::Dialer);
    fail_dial(target, dialed_as(remote, anybody), lane);
}

void World::bring_up(Process& process, LinkId id, Side side) {
    Link& link = *network_.find(id);
    const LinkKey key{link.peers[other(side)], link.lane};
    if (crosses_a_better_one(process, link, side)) {
        const PeerId dialed = dialed_as(key.remote, link.to_anybody);
        hang_up(id, side);
        if (side == Side::Dialer) {
            fail_dial(process, dialed, key.lane);
        }
        return;
    }
    // A loss may still be untold, where dials were held: the end of the old link comes first (C4).
    tell_of_loss(process, key);
    if (process.runner) {
        end_link(process, key);
    }
    if (!process.runner) {
        // The new link ended in the turn that heard of the old link's end.
        return hang_up(id, side);
    }
    link.ends[side] = End::Up;
    link.up_since[side] = now_;
    process.links[key] = id;
    deliver(
        process,
        node::LinkUp{
            processes_[key.remote]->self,
            key.lane,
            link.incarnations[other(side)],
            side == Side::Dialer,
            key.remote}
    );
}

// The rule of HostCore: when dials cross, the link that the smaller id dialled stays (C4).
bool World::crosses_a_better_one(const Process& process, const Link& link, Side side) const {
    const auto found = process.links.find({link.peers[other(side)], link.lane});
    if (found == process.links.end()) {
        return false;
    }
    const Link& there = *network_.find(found->second);
    const Side end = there.side_of(process.index);
    if (there.incarnations[other(end)] != link.incarnations[other(side)] ||
        there.up_since[end] + options_.dial_timeout <= now_) {
        return false;
    }
    const bool is_smaller = process.self < processes_[link.peers[other(side)]]->self;
    const Side by_smaller_id = is_smaller ? Side::Dialer : Side::Listener;
    return end == by_smaller_id && side != by_smaller_id;
}

void World::tell_of_loss(Process& process, LinkKey key) {
    if (process.lost_links.erase(key) > 0) {
        deliver(process, node::LinkDown{processes_[key.remote]->self, key.lane});
    }
}

void World::end_link(Process& process, LinkKey key) {
    const auto found = process.links.find(key);
    if (found == process.links.end()) {
        return;
    }
    const LinkId id = found->second;
    process.links.erase(found);
    hang_up(id, network_.find(id)->side_of(process.index));
    deliver(process, node::LinkDown{processes_[key.remote]->self, key.lane});
}

// The end of a link travels behind the frames sent before it, as a frame without bytes.
void World::hang_up(LinkId id, Side from) {
    Link& link = *network_.find(id);
    Process& sender = *processes_[link.peers[from]];
    if (link.ends[other(from)] != End::Closed) {
        const FrameIndex frame = new_frame(id, other(from), 0);
        frames_[frame].event = node::LinkDown{sender.self, link.lane};
        transmit(sender, link, frame);
    }
    network_.close(id, from);
}

void World::reset_link(PeerId one, PeerId other, Lane lane) {
    const auto& links = process_of(one).links;
    const auto found = links.find({process_of(other).index, lane});
    if (found != links.end()) {
        reset(found->second);
    }
}

void World::reset(LinkId id) {
    ++faults_;
    const Link link = *network_.find(id);
    for (const Side side : {Side::Dialer, Side::Listener}) {
        Process& process = *processes_[link.peers[side]];
        const LinkKey key{link.peers[sim::other(side)], link.lane};
        const DialKey dialed{key, link.to_anybody};
        Item item{.kind = ItemKind::LinkIsReset, .lane = key.lane, .peer = process.index};
        item.index = key.remote;
        item.value = process.life;
        if (link.ends[side] == End::Up) {
            process.links.erase(key);
            process.lost_links.insert(key);
            queue_.push_urgent(now_, item);
        } else if (link.ends[side] == End::Pending && process.dialing.erase(dialed) > 0) {
            item.kind = ItemKind::DialIsReset;
            item.generation = link.to_anybody ? 1 : 0;
            queue_.push_urgent(now_, item);
        }
        if (link.ends[side] != End::Closed) {
            network_.close(id, side);
        }
    }
    drop_lost_frames(*processes_[link.peers[Side::Dialer]]);
    drop_lost_frames(*processes_[link.peers[Side::Listener]]);
}

}  // namespace sim

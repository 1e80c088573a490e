// The part of World that carries frames: out of the sender's access line, over the network, in
// through the receiver's.
#include "sim/world.hpp"
#include "swarm/node/frame_size.hpp"

#include <algorithm>
#include <utility>

namespace sim {
namespace {

// A frame of one packet is stored and forwarded, as packets are; a larger one is carried by both
// lines at once.
constexpr std::uint64_t kPacketBytes = 1500;

Pipe::Flow flow_of(LinkId link) {
    return (std::uint64_t{link.index} << 32) | link.generation;
}

}  // namespace

void World::perform(Process& actor, node::Send& send) {
    if (send_observer_) {
        send_observer_(actor.self, send);
    }
    const PeerIndex* remote = find_peer(send.peer);
    if (remote == nullptr) {
        return;
    }
    const Lane lane = swarm::protocol::lane_of(send.message.body);
    const auto found = actor.links.find({*remote, lane});
    if (found == actor.links.end()) {
        return;
    }
    if (fault_points_.fires(FaultPoint::FrameIsSent, actor.index, actor.faults)) {
        return reset(found->second);
    }
    Link& link = *network_.find(found->second);
    std::uint64_t bytes = node::frame_bytes(send.message, send.payload);
    if (options_.extra_bytes) {
        bytes += options_.extra_bytes(actor.self, send);
    }
    actor.bytes_sent += bytes;
    const FrameIndex index = new_frame(found->second, other(link.side_of(actor.index)), bytes);
    // The event is filled in place: moving a whole event costs more than all other work here.
    auto& received = frames_[index].event.emplace<node::Received>();
    received.peer = actor.self;
    received.lane = lane;
    received.message = std::move(send.message);
    received.payload = std::move(send.payload);
    transmit(actor, link, index);
}

World::FrameIndex World::new_frame(LinkId id, Side to, std::uint64_t bytes) {
    const FrameIndex index = frames_.take();
    Frame& frame = frames_[index];
    frame.link = id;
    frame.to = to;
    frame.holders = 1;
    frame.begins_early = false;
    frame.is_cut = false;
    frame.end_is_here = false;
    frame.is_carried = false;
    frame.bytes = bytes;
    return index;
}

void World::transmit(Process& from, Link& link, FrameIndex index) {
    if (from.up.is_open(now_)) {
        leave(index, now_);
    } else if (link.lane == Lane::Control) {
        leave(index, from.up.pass_control(frames_[index].bytes, now_));
    } else {
        from.up.add_bulk(flow_of(frames_[index].link), index, frames_[index].bytes, now_);
        arm(from, from.up);
    }
}

// The beginning travels as long as the end will, so that the order of the link's frames stays.
void World::send_beginning(FrameIndex index) {
    Frame& frame = frames_[index];
    Link* link = network_.find(frame.link);
    if (link == nullptr || frame.bytes <= kPacketBytes) {
        return;
    }
    const PeerIndex to = link->peers[frame.to];
    if (processes_[to]->down.is_open(now_)) {
        return;  // the line takes no time, so only the end counts
    }
    const TimePoint begins = network_.arrival_time(*link, frame.to, now_);
    frame.begins_early = true;
    frame.latency = begins - now_;
    ++frame.holders;
    queue_.push(begins, {.kind = ItemKind::FrameBegins, .peer = to, .index = index});
}

void World::leave(FrameIndex index, TimePoint left_at) {
    const Frame& frame = frames_[index];
    Link* link = network_.find(frame.link);
    if (link == nullptr) {
        return cut_frame(index);
    }
    TimePoint& last = link->last_arrival[frame.to];
    last = frame.begins_early ? std::max(last, left_at + frame.latency)
                              : network_.arrival_time(*link, frame.to, left_at);
    queue_.push(
        last, {.kind = ItemKind::FrameArrives, .peer = link->peers[frame.to], .index = index}
    );
}

void World::frame_begins(Process& target, FrameIndex index) {
    const Frame& frame = frames_[index];
    const Link* link = network_.find(frame.link);
    if (link == nullptr || link->ends[frame.to] != End::Up || frame.is_cut) {
        return cut_frame(index);
    }
    target.down.add_bulk(flow_of(frame.link), index, frame.bytes, now_);
    arm(target, target.down);
}

void World::frame_arrives(Process& target, FrameIndex index) {
    Frame& frame = frames_[index];
    const Link* link = network_.find(frame.link);
    if (link == nullptr || link->ends[frame.to] != End::Up || frame.is_cut) {
        return cut_frame(index);
    }
    if (frame.begins_early && !frame.is_carried) {
        frame.end_is_here = true;
        drop_frame(index);  // the line still holds it
    } else if (frame.is_carried || target.down.is_open(now_)) {
        frame_is_here(target, index);
    } else if (link->lane == Lane::Control) {
        queue_.push(
            target.down.pass_control(frame.bytes, now_),
            {.kind = ItemKind::FrameIsHere, .peer = target.index, .index = index}
        );
    } else {
        target.down.add_bulk(flow_of(frame.link), index, frame.bytes, now_);
        arm(target, target.down);
    }
}

void World::frame_is_carried(Process& target, FrameIndex index) {
    Frame& frame = frames_[index];
    if (!frame.begins_early || frame.end_is_here) {
        return frame_is_here(target, index);
    }
    frame.is_carried = true;
    drop_frame(index);  // its end still holds it
}

void World::frame_is_here(Process& target, FrameIndex index) {
    if (target.frozen) {
        target.held.push_back({.kind = ItemKind::FrameIsHere, .peer = target.index, .index = index}
        );
        return;
    }
    Frame& frame = frames_[index];
    const Link* link = network_.find(frame.link);
    if (link == nullptr || link->ends[frame.to] != End::Up) {
        return drop_frame(index);  // the link ended at this side while the frame was on its way
    }
    target.bytes_received += frame.bytes;
    if (std::holds_alternative<node::LinkDown>(frame.event)) {
        target.links.erase({link->remote_of(target.index), link->lane});
        network_.close(frame.link, frame.to);
    }
    deliver(target, std::move(frame.event));
    drop_frame(index);
}

void World::pipe_is_due(Process& owner, const Item& item) {
    const bool is_up = item.index == 0;
    Pipe& pipe = is_up ? owner.up : owner.down;
    if (TimePoint(Duration(item.value)) != pipe.armed_for) {
        return;
    }
    pipe.armed_for = swarm::kNever;
    if (pipe.bulk_done_at() <= now_) {
        const FrameIndex frame = pipe.take_bulk(now_);
        if (is_up) {
            leave(frame, now_);
        } else {
            frame_is_carried(owner, frame);
        }
    }
    arm(owner, pipe);
}

void World::arm(Process& owner, Pipe& pipe) {
    const bool is_up = &pipe == &owner.up;
    pipe.visit_begun([&](FrameIndex frame) {
        if (is_up) {
            send_beginning(frame);
        }
    });
    const TimePoint due = pipe.bulk_done_at();
    if (due < pipe.armed_for) {
        pipe.armed_for = due;
        queue_.push(
            due,
            {.kind = ItemKind::PipeIsDue,
             .peer = owner.index,
             .index = is_up ? 0U : 1U,
             .value = static_cast<std::uint64_t>(due.time_since_epoch().count())}
        );
    }
}

void World::cut_frame(FrameIndex index) {
    frames_[index].is_cut = true;
    drop_frame(index);
}

void World::drop_frame(FrameIndex index) {
    if (--frames_[index].holders == 0) {
        frames_[index].event.emplace<node::Woke>();  // releases the payload
        frames_.release(index);
    }
}

void World::drop_lost_frames(Process& process) {
    const auto is_lost = [&](FrameIndex index) {
        const Link* link = network_.find(frames_[index].link);
        const bool lost = link == nullptr || link->ends[frames_[index].to] == End::Closed;
        if (lost) {
            cut_frame(index);
        }
        return lost;
    };
    for (Pipe* pipe : {&process.up, &process.down}) {
        pipe->drop_bulk_if(now_, is_lost);
        arm(process, *pipe);
    }
}

}  // namespace sim

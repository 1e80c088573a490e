// The part of World that carries frames: out of the sender's access line, over the network, in
// through the receiver's.
#include "sim/world.hpp"
#include "swarm/node/frame_size.hpp"

#include <utility>

namespace sim {
namespace {

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
        bytes += options_.extra_bytes(send);
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

void World::leave(FrameIndex index, TimePoint left_at) {
    const Frame& frame = frames_[index];
    Link* link = network_.find(frame.link);
    if (link == nullptr) {
        return drop_frame(index);
    }
    queue_.push(
        network_.arrival_time(*link, frame.to, left_at),
        {.kind = ItemKind::FrameArrives, .peer = link->peers[frame.to], .index = index}
    );
}

void World::frame_arrives(Process& target, FrameIndex index) {
    const Frame& frame = frames_[index];
    const Link* link = network_.find(frame.link);
    if (link == nullptr || link->ends[frame.to] != End::Up) {
        return drop_frame(index);
    }
    if (target.down.is_open(now_)) {
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
            frame_is_here(owner, frame);
        }
    }
    arm(owner, pipe);
}

void World::arm(Process& owner, Pipe& pipe) {
    const TimePoint due = pipe.bulk_done_at();
    if (due < pipe.armed_for) {
        pipe.armed_for = due;
        queue_.push(
            due,
            {.kind = ItemKind::PipeIsDue,
             .peer = owner.index,
             .index = &pipe == &owner.up ? 0U : 1U,
             .value = static_cast<std::uint64_t>(due.time_since_epoch().count())}
        );
    }
}

void World::drop_frame(FrameIndex index) {
    frames_[index].event.emplace<node::Woke>();  // releases the payload
    frames_.release(index);
}

void World::drop_lost_frames(Process& process) {
    const auto is_lost = [&](FrameIndex index) {
        const Link* link = network_.find(frames_[index].link);
        const bool lost = link == nullptr || link->ends[frames_[index].to] == End::Closed;
        if (lost) {
            drop_frame(index);
        }
        return lost;
    };
    for (Pipe* pipe : {&process.up, &process.down}) {
        pipe->drop_bulk_if(now_, is_lost);
        arm(process, *pipe);
    }
}

}  // namespace sim

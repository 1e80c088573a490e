#include "swarm/run/sessions.hpp"

#include <utility>

namespace swarm::run {

using node::Lane;

bool Sessions::link_up(const node::LinkUp& up, node::Turn turn) {
    Session& session = sessions_[up.peer];
    const bool is_new = session.incarnation != up.incarnation;
    if (is_new) {
        session = Session{};
        session.incarnation = up.incarnation;
    }
    session.gone_at = kNever;
    if (up.lane == Lane::Bulk) {
        session.bulk_up = true;
        return is_new;
    }
    session.control_up = true;
    for (protocol::Message& message : session.stream.unacknowledged()) {
        turn.out.add(node::Send{up.peer, std::move(message)});
    }
    return is_new;
}

void Sessions::link_down(const node::LinkDown& down, TimePoint now) {
    const auto found = sessions_.find(down.peer);
    if (found == sessions_.end()) {
        return;
    }
    Session& session = found->second;
    (down.lane == Lane::Bulk ? session.bulk_up : session.control_up) = false;
    if (!session.bulk_up && !session.control_up) {
        session.gone_at = now;
    }
}

bool Sessions::left_nothing(PeerId peer) const {
    const Session* const session = find(peer);
    return session && session->gone_at != kNever && session->stream.is_untouched();
}

std::optional<PeerId> Sessions::longest_gone(const Roster& roster) const {
    std::optional<PeerId> found;
    TimePoint since = kNever;
    for (const auto& [peer, session] : sessions_) {
        if (session.gone_at < since && !roster.find_peer(peer)) {
            since = session.gone_at;
            found = peer;
        }
    }
    return found;
}

void Sessions::send(PeerId peer, protocol::Body body, node::Turn turn) {
    const auto found = sessions_.find(peer);
    if (found == sessions_.end()) {
        return;
    }
    Session& session = found->second;
    protocol::Message message = session.stream.number(std::move(body));
    if (session.stream.overflowed()) {
        // It reads nothing any more. Without a link it is fenced in 2 s; a new one starts afresh.
        turn.out.add(node::Close{peer, Lane::Control});
    } else if (session.control_up) {
        turn.out.add(node::Send{peer, std::move(message)});
    }
}

void Sessions::post(PeerId peer, protocol::Body body, node::Payload payload, node::Turn turn) {
    const auto found = sessions_.find(peer);
    if (found != sessions_.end()) {
        protocol::Message message = found->second.stream.unnumbered(std::move(body));
        turn.out.add(node::Send{peer, std::move(message), std::move(payload)});
    }
}

bool Sessions::receive(const node::Received& received, node::Turn turn) {
    const auto found = sessions_.find(received.peer);
    if (found == sessions_.end()) {
        return false;
    }
    ControlStream& stream = found->second.stream;
    if (stream.is_untouched()) {
        stream.go_on_from(received.message);
    }
    const ControlStream::Verdict verdict = stream.receive(received.message);
    if (verdict == ControlStream::Verdict::Broken) {
        turn.out.add(node::Close{received.peer, Lane::Control});
    }
    if (stream.owes_acknowledgement()) {
        turn.out.add(node::Send{received.peer, stream.unnumbered(protocol::Acknowledge{})});
    }
    return verdict == ControlStream::Verdict::Deliver;
}

const Sessions::Session* Sessions::find(PeerId peer) const {
    const auto found = sessions_.find(peer);
    return found == sessions_.end() ? nullptr : &found->second;
}

void Sessions::set_lent_memory(PeerId peer, std::uint64_t bytes) {
    if (const auto found = sessions_.find(peer); found != sessions_.end()) {
        found->second.lent_memory_bytes = bytes;
    }
}

std::uint64_t Sessions::lent_memory(PeerId peer) const {
    const Session* const session = find(peer);
    return session ? session->lent_memory_bytes : 0;
}

bool Sessions::is_linked(PeerId peer) const {
    const Session* const session = find(peer);
    return session && session->control_up;
}

std::vector<PeerId> Sessions::peers() const {
    std::vector<PeerId> found;
    found.reserve(sessions_.size());
    for (const auto& [peer, session] : sessions_) {
        found.push_back(peer);
    }
    return found;
}

}  // namespace swarm::run

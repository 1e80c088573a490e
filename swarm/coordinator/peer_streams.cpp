#include "swarm/coordinator/peer_streams.hpp"

#include "swarm/protocol/limits.hpp"

#include <utility>

namespace swarm::coordinator {

using node::Lane;

bool PeerStreams::link_up(const node::LinkUp& up, node::Turn turn) {
    Connection& connection = connections_[up.peer];
    const bool is_new = connection.incarnation != up.incarnation;
    if (is_new) {
        connection = Connection{};
        connection.incarnation = up.incarnation;
    }
    connection.gone_at = kNever;
    if (up.lane == Lane::Bulk) {
        connection.bulk_up = true;
        return is_new;
    }
    connection.control_up = true;
    for (protocol::Message& message : connection.stream.unacknowledged()) {
        turn.out.add(node::Send{up.peer, std::move(message)});
    }
    return is_new;
}

void PeerStreams::link_down(const node::LinkDown& down, TimePoint now) {
    const auto found = connections_.find(down.peer);
    if (found == connections_.end()) {
        return;
    }
    Connection& connection = found->second;
    (down.lane == Lane::Bulk ? connection.bulk_up : connection.control_up) = false;
    if (!connection.bulk_up && !connection.control_up) {
        connection.gone_at = now;
    }
}

bool PeerStreams::left_nothing(PeerId peer) const {
    const Connection* const connection = find(peer);
    return connection && connection->gone_at != kNever && connection->stream.is_untouched();
}

std::optional<PeerId> PeerStreams::longest_gone(const run::Roster& roster, std::size_t kept) const {
    std::optional<PeerId> found;
    TimePoint since = kNever;
    std::size_t gone = 0;
    for (const auto& [peer, connection] : connections_) {
        if (connection.gone_at == kNever || roster.find_peer(peer)) {
            continue;
        }
        ++gone;
        if (connection.gone_at < since) {
            since = connection.gone_at;
            found = peer;
        }
    }
    return gone > kept ? found : std::nullopt;
}

void PeerStreams::trust(PeerId peer) {
    if (const auto found = connections_.find(peer); found != connections_.end()) {
        found->second.is_trusted = true;
    }
}

void PeerStreams::send(PeerId peer, protocol::Body body, node::Turn turn) {
    const auto found = connections_.find(peer);
    if (found == connections_.end()) {
        return;
    }
    Connection& connection = found->second;
    protocol::Message message = connection.stream.number(std::move(body));
    if (connection.stream.unread() > (connection.is_trusted
                                          ? protocol::kUnacknowledgedMax
                                          : protocol::kUnacknowledgedByNewcomersMax)) {
        // The peer has stopped reading. Without a link it is fenced in 2 s; a new incarnation
        // starts with an empty stream.
        turn.out.add(node::Close{peer, Lane::Control});
    } else if (connection.control_up) {
        turn.out.add(node::Send{peer, std::move(message)});
    }
}

void PeerStreams::post(PeerId peer, protocol::Body body, node::Payload payload, node::Turn turn) {
    const auto found = connections_.find(peer);
    if (found != connections_.end()) {
        protocol::Message message = found->second.stream.unnumbered(std::move(body));
        turn.out.add(node::Send{peer, std::move(message), std::move(payload)});
    }
}

bool PeerStreams::receive(const node::Received& received, node::Turn turn) {
    const auto found = connections_.find(received.peer);
    if (found == connections_.end()) {
        return false;
    }
    run::ControlStream& stream = found->second.stream;
    if (stream.is_untouched()) {
        stream.go_on_from(received.message);
    }
    const run::ControlStream::Verdict verdict = stream.receive(received.message);
    if (verdict == run::ControlStream::Verdict::Broken) {
        turn.out.add(node::Close{received.peer, Lane::Control});
    }
    if (stream.owes_acknowledgement()) {
        turn.out.add(node::Send{received.peer, stream.unnumbered(protocol::Acknowledge{})});
    }
    return verdict == run::ControlStream::Verdict::Deliver;
}

const PeerStreams::Connection* PeerStreams::find(PeerId peer) const {
    const auto found = connections_.find(peer);
    return found == connections_.end() ? nullptr : &found->second;
}

void PeerStreams::set_lent_memory(PeerId peer, std::uint64_t bytes) {
    if (const auto found = connections_.find(peer); found != connections_.end()) {
        found->second.lent_memory_bytes = bytes;
    }
}

std::uint64_t PeerStreams::lent_memory(PeerId peer) const {
    const Connection* const connection = find(peer);
    return connection ? connection->lent_memory_bytes : 0;
}

bool PeerStreams::is_linked(PeerId peer) const {
    const Connection* const connection = find(peer);
    return connection && connection->control_up;
}

std::vector<PeerId> PeerStreams::peers() const {
    std::vector<PeerId> found;
    found.reserve(connections_.size());
    for (const auto& [peer, connection] : connections_) {
        found.push_back(peer);
    }
    return found;
}

}  // namespace swarm::coordinator

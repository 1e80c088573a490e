#include "stacking/sessions/session_server.hpp"

#include <algorithm>

namespace stacking::sessions {

SessionServer::SessionServer(Options options)
    : options_(std::move(options)),
      directory_(options_.directory, options_.directory_address),
      hops_(options_.hops, links_) {}

void SessionServer::on(const node::Event& event, TimePoint now, node::Outbox& out) {
    const node::Turn turn{now, out};
    ended_ = ended_ || std::holds_alternative<node::Stop>(event);
    if (ended_) {
        return;
    }
    std::visit([&](const auto& occurred) { handle(occurred, turn); }, event);
    hops_.wake(turn);
    if (directory_.wake(turn)) {
        const HostedLayers& host = options_.hops.host;
        send(
            directory_.peer(),
            protocol::Register{
                host.model, host.layers, host.hosted, host.weights, options_.address},
            turn
        );
    }
}

TimePoint SessionServer::next_deadline() const {
    return ended_ ? swarm::kNever : std::min(directory_.next_deadline(), hops_.next_deadline());
}

void SessionServer::handle(const node::LinkUp& up, node::Turn turn) {
    directory_.on(up, turn.now);
    links_.on(up);
    if (up.lane == node::Lane::Bulk) {
        hops_.linked(up.peer, turn);
    }
}

void SessionServer::handle(const node::LinkDown& down, node::Turn turn) {
    directory_.on(down, turn.now);
    links_.on(down);
    if (down.lane == node::Lane::Bulk) {
        hops_.lost(down.peer, turn);
    }
}

void SessionServer::handle(const node::DialFailed& failed, node::Turn turn) {
    directory_.on(failed, turn.now);
    links_.on(failed);
    if (failed.lane == node::Lane::Bulk && !links_.is_up(failed.peer, failed.lane)) {
        hops_.lost(failed.peer, turn);
    }
}

void SessionServer::handle(const node::Received& received, node::Turn turn) {
    const auto give = [&](const auto& body) {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (std::is_same_v<Body, protocol::SessionRows>) {
            hops_.take(received.peer, body, received.payload, turn);
        } else if constexpr (requires { hops_.take(received.peer, body, turn); }) {
            hops_.take(received.peer, body, turn);
        } else if constexpr (std::is_same_v<Body, protocol::Registered>) {
            if (received.peer == directory_.peer() && body.refusal != refusal_) {
                refusal_ = body.refusal;
                if (!refusal_.empty()) {
                    turn.out.log(node::LogLine::Level::Error, "directory: " + refusal_);
                }
            }
        }
    };
    std::visit(give, received.message.body);
}

void SessionServer::handle(const node::Computed& computed, node::Turn turn) {
    hops_.computed(computed.job, turn);
}

}  // namespace stacking::sessions

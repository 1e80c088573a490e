// Helpers for the tests of the generator's parts: peers, a run, and a view of one turn's actions.
#pragma once

#include "swarm/node/role.hpp"
#include "swarm/run/config.hpp"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stacking::test {

namespace node = swarm::node;
namespace protocol = swarm::protocol;
using swarm::PeerId;
using swarm::TimePoint;
using namespace std::chrono_literals;

inline constexpr PeerId kCoordinator{{1}};
inline constexpr PeerId kFirst{{11}};
inline constexpr PeerId kSecond{{12}};
inline constexpr TimePoint kStart{};

/// The outbox of one turn.
struct Actions {
    node::Outbox out;

    node::Turn at(TimePoint now) { return {now, out}; }

    template <class Action>
    std::vector<Action> all() const {
        std::vector<Action> found;
        for (const node::Action& action : out.actions) {
            if (const auto* one = std::get_if<Action>(&action)) {
                found.push_back(*one);
            }
        }
        return found;
    }

    /// Returns the bodies of this kind that were sent to the peer.
    template <class Body>
    std::vector<Body> sent(PeerId peer) const {
        std::vector<Body> found;
        for (const node::Send& send : all<node::Send>()) {
            if (const auto* body = std::get_if<Body>(&send.message.body);
                body != nullptr && send.peer == peer) {
                found.push_back(*body);
            }
        }
        return found;
    }

    template <class Told>
    std::vector<Told> told() const {
        std::vector<Told> found;
        for (const node::Tell& tell : all<node::Tell>()) {
            if (const auto* report = std::get_if<Told>(&tell.report)) {
                found.push_back(*report);
            }
        }
        return found;
    }
};

inline node::Received received(PeerId peer, protocol::Body body, std::uint64_t number = 0) {
    return {peer, protocol::Lane::Control, {number, 0, std::move(body)}, {}};
}

inline protocol::SlotInfo member(
    PeerId peer, std::uint32_t stage = 0, protocol::Standing standing = protocol::Standing::Member
) {
    protocol::SlotInfo info;
    info.slot = {peer.words[0]};
    info.peer = peer;
    info.stage = {stage};
    info.standing = standing;
    info.address = "host" + std::to_string(peer.words[0]) + ":7117";
    return info;
}

/// A run with context 4 and vocabulary 256.
inline protocol::Assign assignment() {
    swarm::run::RunConfig config;
    config.model.context = 4;
    protocol::Assign assign;
    assign.run_file = swarm::run::to_toml(config);
    return assign;
}

inline swarm::Error trouble() {
    return {swarm::ErrorCode::Unreachable, swarm::Reaction::Retry, "nobody there"};
}

}  // namespace stacking::test

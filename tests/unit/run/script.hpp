// What tests of the coordinator's parts share: a look at the actions of one turn.
#pragma once

#include "swarm/node/role.hpp"

#include <utility>
#include <variant>
#include <vector>

namespace swarm::run::test {

/// One turn's outbox.
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
};

inline node::Received received(PeerId peer, protocol::Message message) {
    return {peer, protocol::Lane::Control, std::move(message), {}};
}

}  // namespace swarm::run::test

// A look at the actions of one turn, for tests of the parts of coordinator and run.
#pragma once

#include "swarm/node/role.hpp"

#include <utility>
#include <variant>
#include <vector>

namespace swarm::run::test {

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
};

inline node::Received received(PeerId peer, protocol::Message message) {
    return {peer, protocol::Lane::Control, std::move(message), {}};
}

}  // namespace swarm::run::test

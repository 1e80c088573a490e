// One line of text for an event, for the roles with which tests watch a host.
// "LinkUp <where>", "LinkDown <where>", "DialFailed <where>", "Received <where> <what> <payload
// bytes>", "Computed 7", "Stored 3", "Loaded [a] [b]", "Woke", "Asked 0", "Stop": the caller says
// how a link is called, where(peer, lane), and what matters of a message, what(message).
#pragma once

#include "swarm/node/event.hpp"

#include <string>
#include <variant>

namespace swarm::test {

template <class Where, class What>
class EventDescriber {
 public:
    EventDescriber(const Where& where, const What& what) : where_(where), what_(what) {}

    std::string operator()(const node::LinkUp& up) const {
        return "LinkUp " + where_(up.peer, up.lane);
    }

    std::string operator()(const node::LinkDown& down) const {
        return "LinkDown " + where_(down.peer, down.lane);
    }

    std::string operator()(const node::DialFailed& failed) const {
        return "DialFailed " + where_(failed.peer, failed.lane);
    }

    std::string operator()(const node::Received& received) const {
        return "Received " + where_(received.peer, received.lane) + " " + what_(received.message) +
               " " + std::to_string(received.payload.bytes().size());
    }

    std::string operator()(const node::Computed& computed) const {
        return "Computed " + std::to_string(computed.job.value);
    }

    std::string operator()(const node::Stored& stored) const {
        return "Stored " + std::to_string(stored.store.value);
    }

    std::string operator()(const node::Loaded& loaded) const {
        std::string all = "Loaded";
        for (const std::string& record : loaded.records) {
            all += " [" + record + "]";
        }
        return all;
    }

    std::string operator()(const node::Woke&) const { return "Woke"; }

    std::string operator()(const node::Asked& asked) const {
        return "Asked " + std::to_string(asked.request.index());
    }

    std::string operator()(const node::Stop&) const { return "Stop"; }

 private:
    const Where& where_;
    const What& what_;
};

template <class Where, class What>
std::string describe_event(const node::Event& event, const Where& where, const What& what) {
    return std::visit(EventDescriber(where, what), event);
}

}  // namespace swarm::test

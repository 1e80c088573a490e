// The end of a process that joined a process of another kind: what is there, and what to do.
// Threading: a pure function.
#pragma once

#include "swarm/node/report.hpp"
#include "swarm/protocol/message.hpp"

#include <string>

namespace swarm::node {

/// `here` is the kind that answered at `address`, and `wanted` the kind that was looked for.
inline RunFailed wrong_place(
    const std::string& address, protocol::HubKind here, protocol::HubKind wanted
) {
    constexpr int kUsage = 2;
    using protocol::HubKind;
    std::string text = "at " + address + " is " + protocol::name_of(here) + ", not " +
                       protocol::name_of(wanted) + "; ";
    if (wanted == HubKind::Coordinator && here == HubKind::Directory) {
        text += "with --model this machine can lend a model there, and a run is joined at the ";
        text += "address that `swarm train` prints";
    } else if (wanted == HubKind::Coordinator) {
        text += "join the address that `swarm train` prints";
    } else if (here == HubKind::Coordinator) {
        text += "without --model this machine can join that run, and a model is joined at the ";
        text += "address that `swarm directory` prints";
    } else {
        text += "join the address that `swarm directory` prints";
    }
    return {kUsage, std::move(text)};
}

}  // namespace swarm::node

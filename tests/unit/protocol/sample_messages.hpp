// One valid message of every kind, in the order of Body, for tests and fuzz seeds. Fields differ
// from their defaults, so a codec that drops one shows.
#pragma once

#include "swarm/protocol/message.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace swarm::protocol {

std::vector<Message> sample_messages();

/// The sample that holds `Body`.
template <class Kind>
Message sample_of() {
    for (Message& message : sample_messages()) {
        if (std::holds_alternative<Kind>(message.body)) {
            return message;
        }
    }
    return {};
}

Hello sample_hello();
Digest sample_digest(unsigned char seed);
PeerId sample_peer(std::uint64_t seed);

}  // namespace swarm::protocol

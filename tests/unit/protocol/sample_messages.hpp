// One valid message of every kind, in the order of Body, for tests and fuzz seeds. Fields differ
// from their defaults, so a test sees when a field is lost.
#pragma once

#include "swarm/protocol/message.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace swarm::protocol {

std::vector<Message> sample_messages();

/// Returns the sample whose body is a `Kind`.
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

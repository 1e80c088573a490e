// The first byte of link_fuzz's input, for the target and for the writer of its seeds.
#pragma once

#include "swarm/net/tls.hpp"
#include "swarm/protocol/frame.hpp"

#include <cstdint>

namespace swarm::fuzz {

class LinkPlan {
 public:
    /// The stranger's talk. Raw is the input and nothing else. Tampered is proper TLS whose bytes
    /// are changed on the way as the input tells. UnderTls is the input under good TLS.
    enum class Talk : std::uint8_t { Raw, Tampered, UnderTls };

    /// Whether the stranger's talk begins with a Hello that proves the swarm key.
    enum class FirstHello : std::uint8_t { None, Good };

    explicit LinkPlan(std::uint8_t bits) : bits_(bits) {}

    LinkPlan(Talk talk, net::Side side, protocol::Lane lane, FirstHello hello)
        : bits_(static_cast<std::uint8_t>(
              static_cast<unsigned>(talk) | (side == net::Side::Client ? 4U : 0U) |
              (lane == protocol::Lane::Bulk ? 8U : 0U) | (hello == FirstHello::Good ? 16U : 0U)
          )) {}

    [[nodiscard]] std::uint8_t bits() const { return bits_; }

    [[nodiscard]] Talk talk() const {
        return (bits_ & 3U) == 0 ? Talk::Raw : (bits_ & 3U) == 1 ? Talk::Tampered : Talk::UnderTls;
    }

    /// The side of the link under test.
    [[nodiscard]] net::Side side() const {
        return (bits_ & 4U) != 0 ? net::Side::Client : net::Side::Server;
    }

    [[nodiscard]] protocol::Lane lane() const {
        return (bits_ & 8U) != 0 ? protocol::Lane::Bulk : protocol::Lane::Control;
    }

    [[nodiscard]] bool has_good_hello() const { return (bits_ & 16U) != 0; }

 private:
    std::uint8_t bits_;
};

}  // namespace swarm::fuzz

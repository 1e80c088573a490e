// The part of the world that an IP address belongs to. An IPv6 address that stands for an IPv4 one
// (mapped, NAT64, 6to4) counts as that one.
// Threading: pure. Cost: O(1).
// Source: RFC 6890 and its registries; RFC 6598 (shared by a provider), RFC 4193 (unique local),
// RFC 6052 (NAT64), RFC 3056 (6to4). Addresses for documentation count as public: nothing is there,
// and laboratories use them for the Internet.
#pragma once

#include <boost/asio/ip/address.hpp>

#include <cstdint>

namespace swarm::net {

enum class AddressClass : std::uint8_t {
    Public,
    Private,   // a network at home or at work, a provider's own, or the link itself
    Loopback,  // this machine
    Never,     // no machine: unspecified, multicast, broadcast, reserved
};

AddressClass class_of(const boost::asio::ip::address& address);

}  // namespace swarm::net

// Where a connection comes from, as a budget sees it. A machine has an IPv4 address, or the first
// 64 bits of an IPv6 address, since it may take any address below them. A network is the first 24
// bits of an IPv4 address, the first 48 bits of an IPv6 address: a person can often have all of
// these.
// Threading: any. Cost: O(1).
#pragma once

#include <boost/asio/ip/address.hpp>

#include <cstdint>

namespace swarm::net {

struct Origin {
    std::uint64_t network = 0;
    std::uint64_t machine = 0;
};

/// An IPv4 address that came in over a socket for both families counts as IPv4.
Origin origin_of(const boost::asio::ip::address& address);

}  // namespace swarm::net

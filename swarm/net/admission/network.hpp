// The network from which a connection comes, as a budget sees it: the first 24 bits of an IPv4
// address, the first 48 bits of an IPv6 address. Whoever has one address of such a network can
// often have all of them, so they count as one.
// Threading: any. Cost: O(1).
#pragma once

#include <boost/asio/ip/address.hpp>

#include <cstdint>

namespace swarm::net {

/// An IPv4 address that came in over a socket for both families counts as IPv4.
std::uint64_t network_of(const boost::asio::ip::address& address);

}  // namespace swarm::net

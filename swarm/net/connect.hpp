// Opens a TCP connection to whichever of a peer's addresses answers first. The addresses are tried
// in their order, each 250 ms after the one before it or as soon as that one has failed, so an
// address that swallows everything costs a quarter of a second and not the whole time limit.
// Invariant: when the wait is over, every connection but the returned one is closed.
// Threading: single strand. Errors: Unreachable (Retry); its text names each address with its
// reason. Source: RFC 8305, section 5, with its recommended delay; the answers of the resolver are
// awaited together, not raced.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/base/units.hpp"
#include "swarm/net/resolve.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace swarm::net {

inline constexpr auto kNextAddressAfter = std::chrono::milliseconds(250);

/// Connects from the local address `source`, unless that is unspecified; addresses of its family
/// alone are then tried.
boost::asio::awaitable<Result<boost::asio::ip::tcp::socket>> connect_to_any(
    Endpoints endpoints, boost::asio::ip::address source, TimePoint due
);

}  // namespace swarm::net

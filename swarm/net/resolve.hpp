// Turns the text of a peer's addresses (address.hpp) into endpoints, in the order in which they
// should be tried: as written, then the two families by turns (RFC 8305, section 4). Numbers need
// no look-up. A name asks the system's resolver, which cannot be cancelled, so the wait ends at
// `due` and a late answer is dropped. A name that is not found does not matter if another address
// is there.
// Threading: single strand (Asio looks names up on a thread of its own).
// Errors: Usage (Reject); Unreachable (Retry).
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/base/units.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <string>
#include <vector>

namespace swarm::net {

using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;

boost::asio::awaitable<Result<Endpoints>> resolve(std::string addresses, TimePoint due);

/// Takes the families by turns, beginning with that of the first endpoint, and drops what is there
/// twice.
Endpoints by_turns(const Endpoints& endpoints);

/// Returns the endpoint as an address is written, for messages.
std::string to_text(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace swarm::net

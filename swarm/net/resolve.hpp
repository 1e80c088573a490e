// Turns the text of an address into endpoints. Numbers need no look-up. A name asks the system's
// resolver, which cannot be cancelled, so the wait ends at `due` and a late answer is dropped.
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

boost::asio::awaitable<Result<Endpoints>> resolve(std::string address, TimePoint due);

}  // namespace swarm::net

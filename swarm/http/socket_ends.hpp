// Tells of the two ends of a connection: who asks, and from where the server can be reached.
// Threading: any. Errors: none; a connection that has gone counts as one that everybody can make.
#pragma once

#include "swarm/http/gate.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <string>

namespace swarm::http {

/// Returns the client's address. One that came in over a socket for both families is IPv4.
std::string client_address(const boost::asio::ip::tcp::endpoint& from);

Gate::Reach reach_of(const boost::asio::ip::tcp::socket& socket);

}  // namespace swarm::http

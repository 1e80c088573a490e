// Opens the socket on which others reach this machine. The host kEveryHost stands for all of its
// addresses of both families, or of IPv4 alone where there is no IPv6.
// Threading: none of its own. Errors: Usage (Fatal), with the address and what to do.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/net/address.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace swarm::net {

/// Port 0 takes a free one; the acceptor's endpoint has it.
Result<boost::asio::ip::tcp::acceptor> listen_at(
    const boost::asio::any_io_executor& executor, const Address& address
);

}  // namespace swarm::net

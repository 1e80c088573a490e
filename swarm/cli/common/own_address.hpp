// The address under which others reach this machine, which a peer tells them to dial.
// Errors: Usage (Reject); Unreachable (Retry).
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/net/address.hpp"

#include <string>

namespace swarm::cli {

/// Parses as net::parse_address() does, and takes port 0, which stands for a free port.
Result<net::Address> parse_listen_address(const std::string& text);

/// Returns the local address from which `remote` is reached. It asks the routing table and sends
/// nothing.
Result<std::string> local_address_towards(const net::Address& remote);

/// Returns the host that others dial: `listen_host`, or, where it is "any", the local address that
/// leads to `remote`. A null `remote` stands for the Internet.
std::string advertised_host(const std::string& listen_host, const net::Address* remote);

}  // namespace swarm::cli

// Under which address others reach this machine: what a peer tells them to dial.
// Errors: Usage (Reject); Unreachable (Retry).
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/net/address.hpp"

#include <string>

namespace swarm::cli {

/// As net::parse_address(), and port 0 is a free one.
Result<net::Address> parse_listen_address(const std::string& text);

/// The local address from which `remote` is reached; asks the routing table and sends nothing.
Result<std::string> local_address_towards(const net::Address& remote);

/// What to tell others: the address listened on, or, when that is "any", the one that leads to
/// `remote`, or to the Internet when there is no remote.
std::string advertised_host(const std::string& listen_host, const net::Address* remote);

}  // namespace swarm::cli

// The addresses under which others reach this machine, which a peer tells them to dial.
// Errors: Usage (Reject).
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/net/address.hpp"

#include <functional>
#include <string>
#include <vector>

namespace swarm::cli {

/// Addresses that a peer tells of itself: one of each family to the Internet and to a local
/// network.
inline constexpr std::size_t kAdvertisedMax = 4;

/// Parses as net::parse_address() does. The host may be * or missing, which stands for all of this
/// machine, and the port 0, which stands for a free one.
Result<net::Address> parse_listen_address(const std::string& text);

/// Returns what others may dial to reach a process that listens at `listen`, the likeliest first:
/// that host, or, where it stands for all of this machine, the addresses that lead to `towards` and
/// to the Internet, then those of all interfaces. An address of the machine to itself comes last,
/// and only if `towards` is one or there is no other. It asks the routing table and sends nothing.
/// A null `towards` stands for the Internet alone.
std::vector<net::Address> advertised_addresses(
    const net::Address& listen, const net::Address* towards
);

/// Where a machine joins what this one reaches at some addresses.
struct JoinPlace {
    std::string address;     // one, or several with commas
    bool here_only = false;  // only processes of this machine reach it
};

/// Tells whether a process of this machine listens there. It opens a connection and ends it.
bool is_listening(const net::Address& own);

/// Returns those of `known` that mean the same on every machine. If all of them stand for this
/// machine alone, the place is the first of `own`, the addresses that others dial to reach it, at
/// which `listens` holds: a process on all addresses is told from one on a loopback address. Where
/// nobody listens yet, the place is the first of `own`. REQUIRES: `known` is not empty.
JoinPlace join_place(
    const std::vector<net::Address>& known,
    const std::vector<net::Address>& own,
    const std::function<bool(const net::Address&)>& listens
);

}  // namespace swarm::cli

// The address on which a peer listens, as people write it: host:port. The host is a name, an IPv4
// address, or an IPv6 address in brackets. A peer with several addresses (one for each network and
// family) writes them in one text, the likeliest first, with a comma between two.
// Errors: Usage (Reject).
#pragma once

#include "swarm/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::net {

struct Address {
    std::string host;
    std::uint16_t port = 0;

    friend bool operator==(const Address&, const Address&) = default;
};

/// Addresses in one text: a peer on two networks has one of each family in each of them.
inline constexpr std::size_t kAddressesMax = 8;

/// The host that stands for all addresses of this machine, of both families.
inline constexpr const char* kEveryHost = "*";

Result<Address> parse_address(std::string_view text);
/// Reads one address or several; more than kAddressesMax are an error.
Result<std::vector<Address>> parse_addresses(std::string_view text);
/// Tells whether the host is an IPv4 or IPv6 address and not a name.
bool is_ip(const std::string& host);
/// Tells whether the host is this machine by a loopback address, or by the name localhost.
bool is_loopback(const std::string& host);
std::string to_text(const Address& address);
std::string to_text(const std::vector<Address>& addresses);

}  // namespace swarm::net

// The address on which a peer listens, as people write it: host:port. The host is a name, an IPv4
// address, or an IPv6 address in brackets.
// Errors: Usage (Reject).
#pragma once

#include "swarm/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace swarm::net {

struct Address {
    std::string host;
    std::uint16_t port = 0;

    friend bool operator==(const Address&, const Address&) = default;
};

Result<Address> parse_address(std::string_view text);
/// Tells whether the host is an IPv4 or IPv6 address and not a name.
bool is_ip(const std::string& host);
std::string to_text(const Address& address);

}  // namespace swarm::net

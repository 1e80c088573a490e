#include "swarm/net/address.hpp"

#include <boost/asio/ip/address.hpp>

#include <charconv>

namespace swarm::net {

Result<Address> parse_address(std::string_view text) {
    const Error usage{
        ErrorCode::Usage,
        Reaction::Reject,
        "'" + std::string(text) + "' is no address; write host:port or [ipv6]:port"};
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        return usage;
    }
    std::string_view host = text.substr(0, colon);
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) {
        host = host.substr(1, host.size() - 2);
    }
    const std::string_view digits = text.substr(colon + 1);
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    const bool whole = error == std::errc() && end == digits.data() + digits.size();
    if (!whole || port == 0 || host.empty() || (!bracketed && host.find(':') != host.npos)) {
        return usage;
    }
    return Address{std::string(host), port};
}

bool is_ip(const std::string& host) {
    boost::system::error_code error;
    boost::asio::ip::make_address(host, error);
    return !error;
}

std::string to_text(const Address& address) {
    const bool ipv6 = address.host.find(':') != std::string::npos;
    return (ipv6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

}  // namespace swarm::net

#include "swarm/net/address.hpp"

#include "swarm/base/try.hpp"

#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

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

Result<std::vector<Address>> parse_addresses(std::string_view text) {
    std::vector<Address> addresses;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t comma = std::min(text.find(',', begin), text.size());
        SWARM_TRY(Address address, parse_address(text.substr(begin, comma - begin)));
        addresses.push_back(std::move(address));
        begin = comma + 1;
    }
    if (addresses.size() > kAddressesMax) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            std::to_string(addresses.size()) + " addresses for one peer; at most " +
                std::to_string(kAddressesMax) + " are tried"};
    }
    return addresses;
}

bool is_ip(const std::string& host) {
    boost::system::error_code error;
    boost::asio::ip::make_address(host, error);
    return !error;
}

bool is_loopback(const std::string& host) {
    boost::system::error_code error;
    const auto address = boost::asio::ip::make_address(host, error);
    return error ? host == "localhost" : address.is_loopback();
}

std::string to_text(const Address& address) {
    const bool ipv6 = address.host.find(':') != std::string::npos;
    return (ipv6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

std::string to_text(const std::vector<Address>& addresses) {
    std::string text;
    for (const Address& address : addresses) {
        text += (text.empty() ? "" : ",") + to_text(address);
    }
    return text;
}

}  // namespace swarm::net

#include "swarm/cli/common/join_address.hpp"

#include "swarm/net/address.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace swarm::cli {
namespace {

std::string one_with_port(const std::string& text, std::uint16_t port) {
    const std::string suffix = ":" + std::to_string(port);
    const bool bracketed = text.starts_with('[') && text.ends_with(']');
    if (bracketed || (!text.empty() && text.find(':') == std::string::npos)) {
        return text + suffix;
    }
    const bool bare_ipv6 = std::ranges::count(text, ':') > 1 && net::is_ip(text);
    return bare_ipv6 ? "[" + text + "]" + suffix : text;
}

}  // namespace

std::string with_port(const std::string& addresses, std::uint16_t port) {
    std::string all;
    for (std::size_t begin = 0; begin <= addresses.size();) {
        const std::size_t comma = std::min(addresses.find(',', begin), addresses.size());
        all +=
            (begin == 0 ? "" : ",") + one_with_port(addresses.substr(begin, comma - begin), port);
        begin = comma + 1;
    }
    return all;
}

}  // namespace swarm::cli

#include "swarm/cli/common/own_address.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>

#include <algorithm>
#include <chrono>
#include <ifaddrs.h>
#include <iterator>
#include <memory>
#include <net/if.h>
#include <netinet/in.h>

namespace swarm::cli {
namespace {

namespace asio = boost::asio;
using asio::ip::udp;
using IpAddresses = std::vector<asio::ip::address>;

/// Documentation addresses (RFC 5737, RFC 3849): they are routed like any other of the Internet,
/// and nobody answers there.
constexpr const char* kSomewhereIpv4 = "192.0.2.1";
constexpr const char* kSomewhereIpv6 = "2001:db8::1";
constexpr std::uint16_t kAnyPort = 9;

/// This machine answers itself at once, unless a firewall drops what it sends.
constexpr auto kAnswersItselfWithin = std::chrono::milliseconds(300);

/// The local address from which `there` is reached, if it is.
IpAddresses local_address_towards(const udp::endpoint& there) {
    asio::io_context io;
    boost::system::error_code error;
    udp::socket socket(io);
    socket.connect(there, error);
    const udp::endpoint local = error ? udp::endpoint() : socket.local_endpoint(error);
    return error || local.address().is_unspecified() ? IpAddresses() : IpAddresses{local.address()};
}

IpAddresses local_addresses_towards(const net::Address& remote) {
    asio::io_context io;
    boost::system::error_code error;
    udp::resolver resolver(io);
    IpAddresses found;
    for (const auto& result : resolver.resolve(remote.host, std::to_string(remote.port), error)) {
        const IpAddresses local = local_address_towards(result.endpoint());
        found.insert(found.end(), local.begin(), local.end());
    }
    return found;
}

IpAddresses addresses_of_interfaces() {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) {
        return {};
    }
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(first, &::freeifaddrs);
    IpAddresses found;
    for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) {
            continue;
        }
        if (entry->ifa_addr->sa_family == AF_INET) {
            const auto* const ipv4 = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
            found.emplace_back(asio::ip::address_v4(ntohl(ipv4->sin_addr.s_addr)));
        } else if (entry->ifa_addr->sa_family == AF_INET6) {
            const auto* const ipv6 = reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr);
            asio::ip::address_v6::bytes_type bytes;
            std::copy_n(ipv6->sin6_addr.s6_addr, bytes.size(), bytes.begin());
            found.emplace_back(asio::ip::address_v6(bytes));
        }
    }
    return found;
}

/// An address of a link alone means nothing to a machine that does not know the interface.
bool is_for_others(const asio::ip::address& address) {
    return !address.is_loopback() && !address.is_unspecified() &&
           !(address.is_v6() && address.to_v6().is_link_local());
}

void add_new(IpAddresses& to, const IpAddresses& more, bool (*wanted)(const asio::ip::address&)) {
    for (const asio::ip::address& address : more) {
        if (wanted(address) && std::ranges::count(to, address) == 0) {
            to.push_back(address);
        }
    }
}

bool is_loopback(const asio::ip::address& address) {
    return address.is_loopback();
}

}  // namespace

Result<net::Address> parse_listen_address(const std::string& given) {
    const std::string text = given.starts_with(':') ? net::kEveryHost + given : given;
    if (!text.ends_with(":0")) {
        return net::parse_address(text);
    }
    Result<net::Address> address = net::parse_address(text.substr(0, text.size() - 1) + "1");
    if (address) {
        address->port = 0;
    }
    return address;
}

std::vector<net::Address> advertised_addresses(
    const net::Address& listen, const net::Address* towards
) {
    const bool ipv4_alone = listen.host == "0.0.0.0";
    const bool ipv6_alone = listen.host == "::";
    if (listen.host != net::kEveryHost && !ipv4_alone && !ipv6_alone) {
        return {listen};
    }
    const IpAddresses near = towards ? local_addresses_towards(*towards) : IpAddresses();
    IpAddresses found;
    add_new(found, near, is_for_others);
    for (const char* const somewhere : {kSomewhereIpv4, kSomewhereIpv6}) {
        const udp::endpoint there(asio::ip::make_address(somewhere), kAnyPort);
        add_new(found, local_address_towards(there), is_for_others);
    }
    add_new(found, addresses_of_interfaces(), is_for_others);
    const auto unheard = [&](const asio::ip::address& address) {
        return address.is_v4() ? ipv6_alone : ipv4_alone;
    };
    std::erase_if(found, unheard);
    IpAddresses own = near;
    if (found.empty()) {
        own = {asio::ip::address_v4::loopback(), asio::ip::address_v6::loopback()};
    }
    std::erase_if(own, unheard);
    const std::size_t kept = kAdvertisedMax - (std::ranges::any_of(own, is_loopback) ? 1 : 0);
    found.resize(std::min(found.size(), kept));
    add_new(found, own, is_loopback);
    found.resize(std::min(found.size(), kAdvertisedMax));
    std::vector<net::Address> addresses;
    for (const asio::ip::address& address : found) {
        addresses.push_back({address.to_string(), listen.port});
    }
    return addresses;
}

bool is_listening(const net::Address& own) {
    asio::io_context io;
    boost::system::error_code refused;
    const bool is_name = own.host == net::kEveryHost || own.host == "localhost";
    const auto address = asio::ip::make_address(is_name ? "127.0.0.1" : own.host, refused);
    if (refused) {
        return false;
    }
    asio::ip::tcp::socket socket(io);
    bool connected = false;
    socket.async_connect({address, own.port}, [&](const boost::system::error_code& error) {
        connected = !error;
    });
    io.run_for(kAnswersItselfWithin);
    return connected;
}

JoinPlace join_place(
    const std::vector<net::Address>& known,
    const std::vector<net::Address>& own,
    const std::function<bool(const net::Address&)>& listens
) {
    const auto is_here = [](const net::Address& address) {
        return net::is_loopback(address.host) || address.host == net::kEveryHost ||
               address.host == "0.0.0.0" || address.host == "::";
    };
    std::vector<net::Address> anywhere;
    std::ranges::copy_if(known, std::back_inserter(anywhere), std::not_fn(is_here));
    if (!anywhere.empty()) {
        return {net::to_text(anywhere), false};
    }
    const auto first = std::ranges::find_if(own, std::not_fn(is_here));
    for (const net::Address& address : own) {
        if (!is_here(address) && listens(address)) {
            return {net::to_text(address), false};
        }
    }
    if (first != own.end() && std::ranges::none_of(known, listens)) {
        return {net::to_text(*first), false};
    }
    return {net::to_text(known), true};
}

}  // namespace swarm::cli

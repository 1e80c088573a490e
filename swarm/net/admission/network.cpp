#include "swarm/net/admission/network.hpp"

#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>

namespace swarm::net {
namespace {

namespace ip = boost::asio::ip;

constexpr std::size_t kV6Bytes = 6;
constexpr unsigned kV4HostBits = 8;
constexpr std::uint64_t kV6Mark = std::uint64_t{1} << 63;  // 48 bits follow, so it is free

std::uint64_t network_of(const ip::address_v4& address) {
    return address.to_uint() >> kV4HostBits;
}

}  // namespace

std::uint64_t network_of(const ip::address& address) {
    if (address.is_v4()) {
        return network_of(address.to_v4());
    }
    const ip::address_v6 v6 = address.to_v6();
    if (v6.is_v4_mapped()) {
        return network_of(ip::make_address_v4(ip::v4_mapped, v6));
    }
    std::uint64_t network = 0;
    const ip::address_v6::bytes_type bytes = v6.to_bytes();
    for (std::size_t i = 0; i < kV6Bytes; ++i) {
        network = network << 8 | bytes[i];
    }
    return kV6Mark | network;
}

}  // namespace swarm::net

#include "swarm/net/admission/origin.hpp"

#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>

namespace swarm::net {
namespace {

namespace ip = boost::asio::ip;

constexpr std::size_t kV6MachineBytes = 8;
constexpr unsigned kV6SubnetBits = 16;  // between a machine's bits and those of its network
constexpr unsigned kV4HostBits = 8;
constexpr std::uint64_t kV6Mark = std::uint64_t{1} << 63;  // 48 bits follow, so it is free

Origin origin_of(const ip::address_v4& address) {
    return {address.to_uint() >> kV4HostBits, address.to_uint()};
}

}  // namespace

Origin origin_of(const ip::address& address) {
    if (address.is_v4()) {
        return origin_of(address.to_v4());
    }
    const ip::address_v6 v6 = address.to_v6();
    if (v6.is_v4_mapped()) {
        return origin_of(ip::make_address_v4(ip::v4_mapped, v6));
    }
    std::uint64_t machine = 0;
    const ip::address_v6::bytes_type bytes = v6.to_bytes();
    for (std::size_t i = 0; i < kV6MachineBytes; ++i) {
        machine = machine << 8 | bytes[i];
    }
    return {kV6Mark | machine >> kV6SubnetBits, machine};
}

}  // namespace swarm::net

#include "swarm/net/reach/address_class.hpp"

#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>

#include <algorithm>
#include <array>
#include <optional>

namespace swarm::net {
namespace {

namespace ip = boost::asio::ip;

/// A range of IPv4: addresses whose first `bits` are those of `first`.
struct Range {
    std::uint32_t first;
    unsigned bits;
    AddressClass is;
};

constexpr std::array kRanges = {
    Range{0x00000000, 8, AddressClass::Never},     // 0.0.0.0/8
    Range{0x0a000000, 8, AddressClass::Private},   // 10.0.0.0/8
    Range{0x64400000, 10, AddressClass::Private},  // 100.64.0.0/10
    Range{0x7f000000, 8, AddressClass::Loopback},  // 127.0.0.0/8
    Range{0xa9fe0000, 16, AddressClass::Private},  // 169.254.0.0/16
    Range{0xac100000, 12, AddressClass::Private},  // 172.16.0.0/12
    Range{0xc0a80000, 16, AddressClass::Private},  // 192.168.0.0/16
    Range{0xe0000000, 3, AddressClass::Never}};    // 224.0.0.0/4 and 240.0.0.0/4

AddressClass class_of_v4(std::uint32_t address) {
    for (const Range& range : kRanges) {
        if ((address ^ range.first) >> (32U - range.bits) == 0) {
            return range.is;
        }
    }
    return AddressClass::Public;
}

std::uint32_t number_at(const ip::address_v6::bytes_type& bytes, std::size_t at) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        number = number << 8 | bytes[at + i];
    }
    return number;
}

/// Returns the IPv4 address for which this one stands.
std::optional<std::uint32_t> embedded(const ip::address_v6& address) {
    constexpr ip::address_v6::bytes_type kNat64{0, 0x64, 0xff, 0x9b};  // 64:ff9b::/96
    constexpr std::size_t kPrefix = 12;
    const ip::address_v6::bytes_type bytes = address.to_bytes();
    if (address.is_v4_mapped() ||
        std::equal(bytes.begin(), bytes.begin() + kPrefix, kNat64.begin())) {
        return number_at(bytes, kPrefix);
    }
    const bool is_6to4 = bytes[0] == 0x20 && bytes[1] == 0x02;
    return is_6to4 ? std::optional(number_at(bytes, 2)) : std::nullopt;
}

}  // namespace

AddressClass class_of(const ip::address& address) {
    if (address.is_v4()) {
        return class_of_v4(address.to_v4().to_uint());
    }
    const ip::address_v6 v6 = address.to_v6();
    if (const auto v4 = embedded(v6)) {
        return class_of_v4(*v4);
    }
    const std::uint8_t first = v6.to_bytes()[0];
    constexpr std::uint8_t kUniqueLocal = 0xfc;  // fc00::/7
    if (v6.is_loopback()) {
        return AddressClass::Loopback;
    }
    if (v6.is_unspecified() || v6.is_multicast() || v6.is_v4_compatible()) {
        return AddressClass::Never;
    }
    if ((first & 0xfeU) == kUniqueLocal || v6.is_link_local() || v6.is_site_local()) {
        return AddressClass::Private;
    }
    return AddressClass::Public;
}

}  // namespace swarm::net

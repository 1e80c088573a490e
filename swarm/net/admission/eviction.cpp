#include "swarm/net/admission/eviction.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

namespace swarm::net {

std::size_t choose_eviction(std::span<const Evictable> links) {
    SWARM_ASSERT(!links.empty());
    std::map<std::uint64_t, std::int64_t> in_network;
    std::map<std::uint64_t, std::int64_t> of_machine;
    for (const Evictable& link : links) {
        ++in_network[link.origin.network];
        ++of_machine[link.origin.machine];
    }
    const auto worth = [&](const Evictable& link) {
        return std::tuple(
            -in_network.at(link.origin.network),
            link.acquaintance,
            -of_machine.at(link.origin.machine),
            link.heard_at
        );
    };
    const auto least = std::ranges::min_element(links, {}, worth);
    return static_cast<std::size_t>(least - links.begin());
}

}  // namespace swarm::net

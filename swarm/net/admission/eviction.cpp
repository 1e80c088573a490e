#include "swarm/net/admission/eviction.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace swarm::net {

std::size_t choose_eviction(std::span<const Evictable> links) {
    SWARM_ASSERT(!links.empty());
    std::map<std::uint64_t, std::size_t> counts;
    for (const Evictable& link : links) {
        ++counts[link.network];
    }
    const auto worth = [&](const Evictable& link) {
        const auto others = static_cast<std::int64_t>(counts.at(link.network));
        return std::tuple(-others, link.acquaintance, link.heard_at);
    };
    const auto least = std::ranges::min_element(links, {}, worth);
    return static_cast<std::size_t>(least - links.begin());
}

}  // namespace swarm::net

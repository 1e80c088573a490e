#include "swarm/net/admission/eviction.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

namespace swarm::net {

std::size_t choose_eviction(std::span<const Evictable> links) {
    SWARM_ASSERT(!links.empty());
    return choose_evictions(links, 1).front();
}

std::vector<std::size_t> choose_evictions(std::span<const Evictable> links, std::size_t count) {
    // Links of each network, as a heap whose front goes first.
    std::map<std::uint64_t, std::vector<std::size_t>> networks;
    std::map<std::uint64_t, std::int64_t> of_machine;
    for (std::size_t i = 0; i < links.size(); ++i) {
        networks[links[i].origin.network].push_back(i);
        ++of_machine[links[i].origin.machine];
    }
    const auto worth = [&](std::size_t i) {
        const Evictable& link = links[i];
        const std::int64_t crowd = of_machine.at(link.origin.machine);
        return std::tuple(link.acquaintance, -crowd, link.heard_at, i);
    };
    const auto stays_longer = [&](std::size_t a, std::size_t b) { return worth(a) > worth(b); };
    for (auto& [network, members] : networks) {
        std::ranges::make_heap(members, stays_longer);
    }
    std::vector<std::size_t> chosen;
    while (chosen.size() < std::min(count, links.size())) {
        const auto fullest = std::ranges::max_element(networks, [&](const auto& a, const auto& b) {
            const std::size_t most = a.second.size();
            return most != b.second.size() ? most < b.second.size()
                                           : stays_longer(a.second.front(), b.second.front());
        });
        std::vector<std::size_t>& members = fullest->second;
        std::ranges::pop_heap(members, stays_longer);
        chosen.push_back(members.back());
        members.pop_back();
        if (members.empty()) {
            networks.erase(fullest);
        }
    }
    return chosen;
}

}  // namespace swarm::net

#include "router/no_rebalancing.hpp"

#include <algorithm>

namespace router {

StageIndex NoRebalancing::place(const StageLoads& loads) const {
    const auto fewest =
        std::min_element(loads.begin(), loads.end(), [](const StageLoad& a, const StageLoad& b) {
            return a.peers.size() < b.peers.size();
        });
    return {static_cast<std::uint32_t>(fewest - loads.begin())};
}

}  // namespace router

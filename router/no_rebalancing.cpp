#include "router/no_rebalancing.hpp"

#include <algorithm>

namespace router {

StageIndex NoRebalancing::place(const StageLoads& loads) const {
    const auto fewest = std::min_element(
        loads.begin(),
        loads.end(),
        [](const std::vector<PeerLoad>& a, const std::vector<PeerLoad>& b) {
            return a.size() < b.size();
        }
    );
    return {static_cast<std::uint32_t>(fewest - loads.begin())};
}

}  // namespace router

#include "router/swarm_alg2.hpp"

#include <algorithm>
#include <limits>

namespace router {
namespace {

struct StageTotal {
    StageIndex stage;
    std::size_t peers = 0;
    double queued = 0;
    double units_per_s = 0;
};

std::vector<StageTotal> totals_of(const StageLoads& loads) {
    std::vector<StageTotal> totals;
    totals.reserve(loads.size());
    for (std::uint32_t stage = 0; stage < loads.size(); ++stage) {
        StageTotal total{{stage}, loads[stage].size(), 0, 0};
        for (const PeerLoad& peer : loads[stage]) {
            total.queued += peer.queued;
            total.units_per_s += peer.units_per_s;
        }
        if (total.peers == 0) {
            total.queued = std::numeric_limits<double>::infinity();
        }
        totals.push_back(total);
    }
    return totals;
}

// Null when every stage is down to its last peer.
const StageTotal* giving_stage(const std::vector<StageTotal>& totals) {
    const StageTotal* giving = nullptr;
    for (const StageTotal& total : totals) {
        const bool better =
            giving == nullptr || total.queued < giving->queued ||
            (total.queued == giving->queued && total.units_per_s > giving->units_per_s);
        if (total.peers > 1 && better) {
            giving = &total;
        }
    }
    return giving;
}

}  // namespace

std::optional<Move> SwarmAlg2::rebalance(const StageLoads& loads, TimePoint /*now*/) {
    const std::vector<StageTotal> totals = totals_of(loads);
    const StageTotal* const from = giving_stage(totals);
    const auto to = std::max_element(
        totals.begin(),
        totals.end(),
        [](const StageTotal& a, const StageTotal& b) { return a.queued < b.queued; }
    );
    if (from == nullptr || to->queued <= from->queued) {
        return std::nullopt;
    }
    const std::vector<PeerLoad>& peers = loads[from->stage.value];
    const auto mover =
        std::min_element(peers.begin(), peers.end(), [](const PeerLoad& a, const PeerLoad& b) {
            return a.queued < b.queued;
        });
    return Move{mover->slot, from->stage, to->stage};
}

StageIndex SwarmAlg2::place(const StageLoads& loads) const {
    const std::vector<StageTotal> totals = totals_of(loads);
    return std::max_element(
               totals.begin(),
               totals.end(),
               [](const StageTotal& a, const StageTotal& b) {
                   return a.queued < b.queued || (a.queued == b.queued && a.peers > b.peers);
               }
    )->stage;
}

}  // namespace router

#include "router/swarm_alg2.hpp"

#include <algorithm>
#include <limits>

namespace router {
namespace {

struct StageTotal {
    StageIndex stage;
    std::size_t peers = 0;
    std::size_t arriving = 0;
    double queued = 0;
    double units_per_s = 0;
};

std::vector<StageTotal> totals_of(const StageLoads& loads) {
    std::vector<StageTotal> totals;
    totals.reserve(loads.size());
    for (std::uint32_t stage = 0; stage < loads.size(); ++stage) {
        StageTotal total{{stage}};
        for (const PeerLoad& peer : loads[stage].peers) {
            ++(peer.is_arriving ? total.arriving : total.peers);
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

// Returns null when every stage is down to its last peer.
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

std::vector<Move> SwarmAlg2::rebalance(const StageLoads& loads, TimePoint /*now*/) {
    const std::vector<StageTotal> totals = totals_of(loads);
    const StageTotal* const from = giving_stage(totals);
    const auto to = std::max_element(
        totals.begin(),
        totals.end(),
        [](const StageTotal& a, const StageTotal& b) { return a.queued < b.queued; }
    );
    if (from == nullptr || to->queued <= from->queued) {
        return {};
    }
    const std::vector<PeerLoad>& peers = loads[from->stage.value].peers;
    const auto may_go = [&](const PeerLoad& peer) {
        return !peer.is_arriving && fits(peer, loads[to->stage.value]);
    };
    const auto mover =
        std::min_element(peers.begin(), peers.end(), [&](const PeerLoad& a, const PeerLoad& b) {
            return may_go(a) != may_go(b) ? may_go(a) : a.queued < b.queued;
        });
    if (!may_go(*mover)) {
        return {};
    }
    return {{mover->slot, from->stage, to->stage}};
}

StageIndex SwarmAlg2::place(const StageLoads& loads) const {
    const std::vector<StageTotal> totals = totals_of(loads);
    const auto all = [](const StageTotal& total) { return total.peers + total.arriving; };
    const auto wanted = std::max_element(
        totals.begin(),
        totals.end(),
        [&](const StageTotal& a, const StageTotal& b) {
            return a.queued < b.queued || (a.queued == b.queued && all(a) > all(b));
        }
    );
    if (wanted->arriving == 0) {
        return wanted->stage;
    }
    return std::min_element(
               totals.begin(),
               totals.end(),
               [&](const StageTotal& a, const StageTotal& b) { return all(a) < all(b); }
    )->stage;
}

}  // namespace router

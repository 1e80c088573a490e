#include "sim/fluid/best_placement.hpp"

#include <algorithm>
#include <vector>

namespace sim {
namespace {

struct Load {
    double per_s = 0;
    std::uint32_t stage = 0;

    [[nodiscard]] bool is_below(const Load& other) const {
        return per_s < other.per_s || (per_s == other.per_s && stage < other.stage);
    }
};

// Restores a binary heap with the lowest load on top after its top has grown. The standard library
// can only take the top out and put it back, which takes twice as long.
void sink_top(std::vector<Load>& heap) {
    const Load top = heap.front();
    std::size_t hole = 0;
    for (;;) {
        std::size_t child = 2 * hole + 1;
        if (child >= heap.size()) {
            break;
        }
        child += child + 1 < heap.size() && heap[child + 1].is_below(heap[child]) ? 1 : 0;
        if (!heap[child].is_below(top)) {
            break;
        }
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = top;
}

}  // namespace

PeerKind kind_of(const FleetPeer& peer, double speed, const Pipeline& pipeline) {
    const std::uint32_t middle = pipeline.stages > 2 ? 1 : 0;
    return {flow_of(peer, speed, pipeline, middle).per_s, flow_of(peer, speed, pipeline, 0).per_s};
}

void BestPlacement::add(const PeerKind& kind) {
    ++peers_[kind];
    narrowest_.reset();
}

void BestPlacement::remove(const PeerKind& kind) {
    const auto found = peers_.find(kind);
    if (--found->second == 0) {
        peers_.erase(found);
    }
    narrowest_.reset();
}

double BestPlacement::narrowest() {
    if (!narrowest_) {
        narrowest_ = place_all();
    }
    return *narrowest_;
}

// The fastest peers go first, each to the stage that has least. Among many equal peers whole rounds
// are given at once, when no stage is further behind than one peer.
double BestPlacement::place_all() const {
    std::vector<Load> loads(stages_);  // a heap already: all loads are equal
    for (std::uint32_t stage = 0; stage < stages_; ++stage) {
        loads[stage].stage = stage;
    }
    double highest = 0;
    for (const auto& [kind, count] : peers_) {
        const bool same_everywhere = kind.middle_per_s == kind.edge_per_s;
        std::uint64_t left = count;
        while (left > 0) {
            if (same_everywhere && left >= stages_ &&
                highest - loads.front().per_s <= kind.middle_per_s) {
                const double rounds = static_cast<double>(left / stages_);
                for (Load& load : loads) {
                    load.per_s += rounds * kind.middle_per_s;
                }
                highest += rounds * kind.middle_per_s;
                left %= stages_;
                continue;
            }
            Load& lowest = loads.front();
            const bool edge = lowest.stage == 0 || lowest.stage + 1 == stages_;
            lowest.per_s += edge ? kind.edge_per_s : kind.middle_per_s;
            highest = std::max(highest, lowest.per_s);
            sink_top(loads);
            --left;
        }
    }
    return loads.front().per_s;
}

}  // namespace sim

#include "router/capacity.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace router {
namespace {

/// Time for which a placement is expected to be of use, before other peers come and go.
constexpr double kHorizon_s = 3600;
/// Rates are measured to a few per cent; a gain below this one may be none.
constexpr double kGainMin = 0.03;
constexpr std::size_t kPlannedMax = 256;
/// The difference, relative, up to which two rates count as equal in spite of rounding.
constexpr double kSame = 1e-9;

double mean_rate(const StageLoads& loads) {
    double sum = 0;
    std::size_t known = 0;
    for (const StageLoad& stage : loads) {
        for (const PeerLoad& peer : stage.peers) {
            sum += peer.units_per_s;
            known += peer.units_per_s > 0 ? 1 : 0;
        }
    }
    return known > 0 ? sum / static_cast<double>(known) : 1;
}

/// The stages in the state after the planned moves so far.
class Plan {
 public:
    explicit Plan(const StageLoads& loads) : loads_(loads), unmeasured_(mean_rate(loads)) {
        for (const StageLoad& stage : loads) {
            Stage& own = stages_.emplace_back();
            for (const PeerLoad& peer : stage.peers) {
                own.per_s += rate(peer) / stage.units_per_microbatch;
                own.members += peer.is_arriving ? 0 : 1;
                own.may_go.push_back(!peer.is_arriving && !peer.is_leased);
            }
        }
    }

    [[nodiscard]] double per_s(std::size_t stage) const { return stages_[stage].per_s; }

    [[nodiscard]] std::size_t weakest() const {
        const auto weakest =
            std::min_element(stages_.begin(), stages_.end(), [](const Stage& a, const Stage& b) {
                return a.per_s < b.per_s;
            });
        return static_cast<std::size_t>(weakest - stages_.begin());
    }

    /// Returns the move that leaves giver and weakest stage with the most; among equal moves the
    /// one out of the strongest stage; none when no move helps the weakest.
    std::optional<Move> next() {
        const std::size_t to = weakest();
        std::size_t from = to;
        std::size_t mover = 0;
        double best = stages_[to].per_s;
        double best_left = 0;
        for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
            if (stage == to || stages_[stage].members < 2) {
                continue;
            }
            for (std::size_t i = 0; i < loads_[stage].peers.size(); ++i) {
                if (!stages_[stage].may_go[i] || !fits(loads_[stage].peers[i], loads_[to])) {
                    continue;
                }
                const double left = stages_[stage].per_s - worth(loads_[stage].peers[i], stage);
                const double got = stages_[to].per_s + worth(loads_[stage].peers[i], to);
                const double least = std::min(left, got);
                const bool as_good = from != to && least > best * (1 - kSame);
                if (least > best * (1 + kSame) || (as_good && left > best_left * (1 + kSame))) {
                    best = least;
                    best_left = left;
                    from = stage;
                    mover = i;
                }
            }
        }
        if (from == to) {
            return std::nullopt;
        }
        const PeerLoad& peer = loads_[from].peers[mover];
        stages_[from].per_s -= worth(peer, from);
        stages_[from].may_go[mover] = false;
        --stages_[from].members;
        stages_[to].per_s += worth(peer, to);
        return Move{
            peer.slot, {static_cast<std::uint32_t>(from)}, {static_cast<std::uint32_t>(to)}};
    }

 private:
    struct Stage {
        double per_s = 0;  // microbatches per second
        std::size_t members = 0;
        std::vector<bool> may_go;  // by peer
    };

    [[nodiscard]] double rate(const PeerLoad& peer) const {
        return peer.units_per_s > 0 ? peer.units_per_s : unmeasured_;
    }

    [[nodiscard]] double worth(const PeerLoad& peer, std::size_t stage) const {
        return rate(peer) / loads_[stage].units_per_microbatch;
    }

    const StageLoads& loads_;
    double unmeasured_;
    std::vector<Stage> stages_;
};

}  // namespace

std::vector<Move> Capacity::rebalance(const StageLoads& loads, TimePoint /*now*/) {
    Plan plan(loads);
    const double before = plan.per_s(plan.weakest());
    std::vector<Move> planned;
    std::size_t made = 0;  // so many of the first planned moves pay best
    double best_s = 0;
    double joining_s = 0;
    while (planned.size() < kPlannedMax) {
        const std::optional<Move> move = plan.next();
        if (!move) {
            break;
        }
        planned.push_back(*move);
        joining_s += loads[move->to.value].join_s;
        const double after = plan.per_s(plan.weakest());
        const double gain = before > 0 ? after / before - 1 : kHorizon_s;
        const double pays_s = gain * kHorizon_s - joining_s;
        if (gain >= kGainMin && pays_s > best_s) {
            best_s = pays_s;
            made = planned.size();
        }
    }
    std::vector<Move> moves;
    std::vector<bool> gives(loads.size(), false);
    for (std::size_t i = 0; i < made; ++i) {  // the other planned moves follow a period later
        if (!gives[planned[i].from.value]) {
            gives[planned[i].from.value] = true;
            moves.push_back(planned[i]);
        }
    }
    return moves;
}

StageIndex Capacity::place(const StageLoads& loads) const {
    const Plan plan(loads);
    const double weakest = plan.per_s(plan.weakest());
    std::size_t chosen = plan.weakest();
    for (std::size_t stage = 0; stage < loads.size(); ++stage) {
        const bool as_weak = plan.per_s(stage) <= weakest * (1 + kGainMin);
        if (as_weak && loads[stage].join_s < loads[chosen].join_s) {
            chosen = stage;
        }
    }
    return {static_cast<std::uint32_t>(chosen)};
}

}  // namespace router

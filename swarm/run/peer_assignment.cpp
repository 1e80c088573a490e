#include "swarm/run/peer_assignment.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace swarm::run {
namespace {

constexpr std::size_t kNobody = static_cast<std::size_t>(-1);
/// Relative differences below this come from rounding.
constexpr double kSame = 1e-9;
constexpr std::size_t kImprovementsMax = 4096;
/// With more peers exchanges are not tried, because single moves are fine enough.
constexpr std::size_t kExchangedMax = 256;

bool fits(const PeerPower& peer, const StageNeed& stage) {
    return peer.memory_bytes == 0 || stage.memory_bytes <= peer.memory_bytes;
}

double worth(const PeerPower& peer, const StageNeed& stage) {
    return peer.units_per_s / stage.units_per_microbatch;
}

std::size_t weakest(const std::vector<double>& per_s) {
    return static_cast<std::size_t>(std::min_element(per_s.begin(), per_s.end()) - per_s.begin());
}

class Assigning {
 public:
    Assigning(const std::vector<PeerPower>& peers, const std::vector<StageNeed>& stages)
        : peers_(peers),
          stages_(stages),
          now_{
              std::vector<std::optional<StageIndex>>(peers.size()),
              std::vector<double>(stages.size(), 0)} {}

    void largest_to_weakest() {
        std::vector<std::size_t> order(peers_.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return peers_[a].units_per_s > peers_[b].units_per_s;
        });
        for (const std::size_t peer : order) {
            std::optional<std::size_t> to;
            for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
                if (fits(peers_[peer], stages_[stage]) && (!to || is_weaker(stage, *to))) {
                    to = stage;
                }
            }
            if (to) {
                put(peer, *to);
            }
        }
    }

    /// The move to the weakest stage, or the exchange with one of its peers, that leaves both
    /// stages with the most. False when none helps it.
    bool improve() {
        const std::size_t to = weakest(now_.per_s);
        double best = now_.per_s[to];
        std::size_t mover = kNobody;
        std::size_t other = kNobody;
        for (std::size_t i = 0; i < peers_.size(); ++i) {
            if (!now_.stage_of[i] || now_.stage_of[i]->value == to ||
                !fits(peers_[i], stages_[to])) {
                continue;
            }
            if (const double least = least_after(i, kNobody, to); least > best * (1 + kSame)) {
                best = least;
                mover = i;
                other = kNobody;
            }
            for (std::size_t j = 0; j < peers_.size() && peers_.size() <= kExchangedMax; ++j) {
                const bool may = now_.stage_of[j] && now_.stage_of[j]->value == to &&
                                 fits(peers_[j], stages_[now_.stage_of[i]->value]);
                if (const double least = may ? least_after(i, j, to) : 0;
                    least > best * (1 + kSame)) {
                    best = least;
                    mover = i;
                    other = j;
                }
            }
        }
        if (mover == kNobody) {
            return false;
        }
        const std::size_t from = now_.stage_of[mover]->value;
        take(mover);
        put(mover, to);
        if (other != kNobody) {
            take(other);
            put(other, from);
        }
        return true;
    }

    [[nodiscard]] PeerAssignment result() && { return std::move(now_); }

 private:
    /// Among equally weak stages the costlier one is the weaker, because it needs the faster peers.
    [[nodiscard]] bool is_weaker(std::size_t a, std::size_t b) const {
        return now_.per_s[a] != now_.per_s[b]
                   ? now_.per_s[a] < now_.per_s[b]
                   : stages_[a].units_per_microbatch > stages_[b].units_per_microbatch;
    }

    [[nodiscard]] double least_after(std::size_t mover, std::size_t other, std::size_t to) const {
        const std::size_t from = now_.stage_of[mover]->value;
        double left = now_.per_s[from] - worth(peers_[mover], stages_[from]);
        double got = now_.per_s[to] + worth(peers_[mover], stages_[to]);
        if (other != kNobody) {
            left += worth(peers_[other], stages_[from]);
            got -= worth(peers_[other], stages_[to]);
        }
        return std::min(left, got);
    }

    void put(std::size_t peer, std::size_t stage) {
        now_.stage_of[peer] = StageIndex{static_cast<std::uint32_t>(stage)};
        now_.per_s[stage] += worth(peers_[peer], stages_[stage]);
    }

    void take(std::size_t peer) {
        const std::size_t stage = now_.stage_of[peer]->value;
        now_.per_s[stage] -= worth(peers_[peer], stages_[stage]);
        now_.stage_of[peer].reset();
    }

    const std::vector<PeerPower>& peers_;
    const std::vector<StageNeed>& stages_;
    PeerAssignment now_;
};

}  // namespace

double PeerAssignment::narrowest() const {
    return per_s[weakest(per_s)];
}

PeerAssignment assign_peers(
    const std::vector<PeerPower>& peers, const std::vector<StageNeed>& stages
) {
    Assigning assigning(peers, stages);
    assigning.largest_to_weakest();
    for (std::size_t i = 0; i < kImprovementsMax && assigning.improve(); ++i) {
    }
    return std::move(assigning).result();
}

}  // namespace swarm::run

#include "tests/golden/clairvoyant.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace sim::golden {
namespace {

/// Time that the oracle looks ahead: about as long as "capacity" expects a placement to be of use.
constexpr Duration kAhead = std::chrono::hours(1);

class Clairvoyant {
 public:
    Clairvoyant(std::uint32_t stages, const Schedule& schedule)
        : schedule_(schedule), stage_of_(schedule.fleet.size()), stages_(stages) {
        std::uint32_t dealt = 0;
        for (const FleetPeer& peer : schedule.fleet) {
            if (peer.there_at_start) {
                stage_of_[peer.number - 1] = dealt++ % stages;
            }
        }
    }

    std::uint64_t run() {
        for (next_ = 0; next_ < schedule_.happenings.size(); ++next_) {
            const Happening& happening = schedule_.happenings[next_];
            std::optional<std::uint32_t>& stage = stage_of_[happening.peer - 1];
            if (happening.kind == Happening::Kind::Join) {
                stage = fewest(kept());
                ++downloads_;
            } else {
                stage.reset();
            }
            level();
        }
        return downloads_;
    }

 private:
    [[nodiscard]] static std::uint32_t fewest(const std::vector<std::uint32_t>& peers) {
        return static_cast<std::uint32_t>(
            std::min_element(peers.begin(), peers.end()) - peers.begin()
        );
    }

    [[nodiscard]] std::vector<std::uint32_t> peers() const {
        std::vector<std::uint32_t> peers(stages_, 0);
        for (const auto& stage : stage_of_) {
            if (stage) {
                ++peers[*stage];
            }
        }
        return peers;
    }

    /// Time at which the peer goes, for good or for a while.
    [[nodiscard]] TimePoint goes_at(std::size_t peer) const {
        for (std::size_t i = next_ + 1; i < schedule_.happenings.size(); ++i) {
            if (schedule_.happenings[i].peer == peer + 1) {
                return schedule_.happenings[i].at;
            }
        }
        return swarm::kNever;
    }

    /// Peers of each stage that are still there after kAhead, newcomers not counted.
    [[nodiscard]] std::vector<std::uint32_t> kept() const {
        std::vector<std::uint32_t> kept = peers();
        const TimePoint until = schedule_.happenings[next_].at + kAhead;
        for (std::size_t i = next_ + 1; i < schedule_.happenings.size(); ++i) {
            const Happening& happening = schedule_.happenings[i];
            if (happening.at > until) {
                break;
            }
            const auto& stage = stage_of_[happening.peer - 1];
            if (stage && happening.kind != Happening::Kind::Join && kept[*stage] > 0) {
                --kept[*stage];
            }
        }
        return kept;
    }

    void level() {
        for (;;) {
            const std::vector<std::uint32_t> now = peers();
            std::uint32_t all = 0;
            for (const std::uint32_t count : now) {
                all += count;
            }
            const std::uint32_t wanted = all / stages_;
            const std::uint32_t to = fewest(now);
            if (now[to] >= wanted) {
                return;
            }
            const std::vector<std::uint32_t> later = kept();
            std::uint32_t from = to;
            for (std::uint32_t stage = 0; stage < stages_; ++stage) {
                if (now[stage] > wanted && (from == to || later[stage] > later[from])) {
                    from = stage;
                }
            }
            stage_of_[longest_of(from)] = to;
            ++downloads_;
        }
    }

    [[nodiscard]] std::size_t longest_of(std::uint32_t stage) const {
        std::optional<std::size_t> longest;
        for (std::size_t peer = 0; peer < stage_of_.size(); ++peer) {
            if (stage_of_[peer] == stage && (!longest || goes_at(peer) > goes_at(*longest))) {
                longest = peer;
            }
        }
        return *longest;
    }

    const Schedule& schedule_;
    std::vector<std::optional<std::uint32_t>> stage_of_;  // by peer; nothing: the peer is away
    std::uint32_t stages_;
    std::size_t next_ = 0;
    std::uint64_t downloads_ = 0;
};

}  // namespace

std::uint64_t clairvoyant_downloads(const Scenario& scenario, const Schedule& schedule) {
    return Clairvoyant(scenario.pipeline.stages, schedule).run();
}

}  // namespace sim::golden

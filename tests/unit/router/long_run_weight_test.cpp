// The long-run weights that every registered policy states must be the shares of its picks at busy
// peers.
#include "router/policy.hpp"
#include "tests/unit/router/one_unit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <sstream>
#include <string>
#include <vector>

namespace router {
namespace {

using test::kOneUnit;

constexpr std::array<double, 3> kUnitsPerS{1, 2, 5};
constexpr int kWindow = 60;
constexpr int kPicks = 30'000;

struct Peer {
    std::deque<int> waiting;  // pieces of work
    TimePoint free_at{};      // when the first of them is done
    double picks = 0;
};

/// Peers that serve in order; a new piece of work is picked for whenever one is done.
class BusyStage {
 public:
    explicit BusyStage(const std::string& policy) : policy_(make_policy(policy, 7)) {
        for (std::uint64_t slot = 0; slot < peers_.size(); ++slot) {
            policy_->add({slot}, {});
            policy_->rate_changed({slot}, kUnitsPerS.at(slot), {});
        }
        for (int i = 0; i < kWindow; ++i) {
            pick();
        }
    }

    void serve_one() {
        std::size_t next = 0;
        for (std::size_t slot = 0; slot < peers_.size(); ++slot) {
            next = done_at(slot) < done_at(next) ? slot : next;
        }
        now_ = done_at(next);
        Peer& peer = peers_.at(next);
        peer.waiting.pop_front();
        peer.free_at = now_ + service_of(next);
        policy_->finished({next}, kOneUnit, now_);
        pick();
    }

    [[nodiscard]] double share(std::size_t slot) const {
        double picks = 0;
        for (const Peer& peer : peers_) {
            picks += peer.picks;
        }
        return peers_.at(slot).picks / picks;
    }

    [[nodiscard]] double claimed_share(std::size_t slot) const {
        double weights = 0;
        for (const double units_per_s : kUnitsPerS) {
            weights += policy_->long_run_weight(units_per_s);
        }
        return policy_->long_run_weight(kUnitsPerS.at(slot)) / weights;
    }

 private:
    static Duration service_of(std::size_t slot) {
        return Duration(static_cast<Duration::rep>(1e9 / kUnitsPerS.at(slot)));
    }

    [[nodiscard]] TimePoint done_at(std::size_t slot) const {
        const Peer& peer = peers_.at(slot);
        return peer.waiting.empty() ? swarm::kNever : peer.free_at;
    }

    void pick() {
        const std::size_t slot = policy_->pick(kOneUnit, now_)->value;
        Peer& peer = peers_.at(slot);
        if (peer.waiting.empty()) {
            peer.free_at = now_ + service_of(slot);
        }
        peer.waiting.push_back(1);
        ++peer.picks;
    }

    std::unique_ptr<Policy> policy_;
    std::array<Peer, kUnitsPerS.size()> peers_;
    TimePoint now_{};
};

TEST(LongRunWeight, IsTheShareOfThePicksAtBusyPeers) {
    std::istringstream names(policy_names());
    for (std::string name; std::getline(names >> std::ws, name, ',');) {
        BusyStage stage(name);
        for (int i = 0; i < kPicks; ++i) {
            stage.serve_one();
        }
        for (std::size_t slot = 0; slot < kUnitsPerS.size(); ++slot) {
            EXPECT_NEAR(stage.share(slot), stage.claimed_share(slot), 0.01) << name << slot;
        }
    }
}

}  // namespace
}  // namespace router

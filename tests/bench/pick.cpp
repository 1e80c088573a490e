#include "pick.hpp"

#include "router/policy.hpp"
#include "swarm/base/check.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string_view>
#include <vector>

namespace swarm::bench {
namespace {

constexpr router::Request kRequest{
    .work_units = 3072, .bytes = 1 << 20, .step_needs = std::chrono::seconds(30)};

std::unique_ptr<router::Policy> unequal_peers(std::string_view name) {
    auto policy = router::make_policy(name, 1);
    SWARM_ASSERT(policy != nullptr);
    Rng rng(2, 3);
    for (std::uint64_t i = 0; i < kPickPeers; ++i) {
        policy->add({i}, {});
        policy->rate_changed({i}, 1000 + 9000 * rng.unit(), {});
        policy->bandwidth_changed({i}, 1e6 + 1e8 * rng.unit(), {});
    }
    return policy;
}

/// The picks of a round are finished after it, outside the measured time.
double ns_per_pick(std::string_view name) {
    const auto policy = unequal_peers(name);
    std::array<double, kPickRounds> rounds{};
    std::vector<SlotId> picked(kPicksPerRound);
    TimePoint now{};
    for (double& round : rounds) {
        const auto began = std::chrono::steady_clock::now();
        for (SlotId& slot : picked) {
            now += std::chrono::microseconds(10);
            slot = *policy->pick(kRequest, now);
        }
        const std::chrono::duration<double, std::nano> took =
            std::chrono::steady_clock::now() - began;
        round = took.count() / kPicksPerRound;
        for (const SlotId slot : picked) {
            policy->finished(slot, kRequest, now);
        }
    }
    std::nth_element(rounds.begin(), rounds.begin() + kPickRounds / 2, rounds.end());
    return rounds[kPickRounds / 2];
}

}  // namespace

PickFigures measure_pick() {
    return {ns_per_pick("iwrr"), ns_per_pick("expected_finish")};
}

}  // namespace swarm::bench

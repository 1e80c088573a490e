// Stages whose parameters are all frozen: they compute forwards and add nothing, and below the
// lowest stage that trains nobody computes a backward. Under crashes, freezes and lost links such
// a run equals one process, too. SWARM_SEED=<n> replays one seed.
#include "tests/simulation/chaos.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

namespace sim {
namespace {

constexpr std::uint64_t kSeeds = 100;

struct FrozenCase {
    const char* group;
    std::uint32_t lowest_that_trains;

    friend std::ostream& operator<<(std::ostream& out, const FrozenCase& one) {
        return out << one.group;
    }
};

class FrozenStages : public testing::TestWithParam<FrozenCase> {};

TEST_P(FrozenStages, EqualOneProcessUnderChaos) {
    const auto options_of = [](std::uint64_t seed) {
        RunWorldOptions options = three_by_two(seed, 6);
        options.config.train.freeze = {GetParam().group};
        return options;
    };
    const Reference reference = train_single(options_of(1).config);
    const char* const one = std::getenv("SWARM_SEED");
    const std::uint64_t first = one ? std::strtoull(one, nullptr, 10) : 1;
    const std::uint64_t last = one ? first : kSeeds;
    std::uint64_t replays = 0;
    for (std::uint64_t seed = first; seed <= last && !HasFailure(); ++seed) {
        RunWorld run(options_of(seed));
        std::uint64_t too_low = 0;
        run.observe_sends([&](PeerId from, const node::Send& send) {
            const auto* const sender = run.server(from);
            const bool is_backward =
                std::holds_alternative<swarm::protocol::Backward>(send.message.body);
            if (sender != nullptr && is_backward &&
                sender->context().stage().value <= GetParam().lowest_that_trains) {
                ++too_low;  // the gradient goes to the stage below
            }
        });
        HealthWatch health(run);
        run_chaos(run, health, seed);
        EXPECT_EQ(run.verdict(reference), "")
            << "replay with: SWARM_SEED=" << seed << " frozen_stages_test";
        EXPECT_EQ(too_low, 0U);
        replays += run.replayed();
    }
    EXPECT_TRUE(one || replays > 0);
}

INSTANTIATE_TEST_SUITE_P(
    Each,
    FrozenStages,
    testing::Values(
        FrozenCase{"layers.0", 1},
        FrozenCase{"layers.1", 0},
        FrozenCase{"layers.2", 0},
        FrozenCase{"layers.0-1", 2}
    ),
    [](const auto& each) {
        std::string name = each.param.group;
        std::ranges::replace_if(
            name, [](char c) { return c == '.' || c == '-'; }, '_'
        );
        return name;
    }
);

}  // namespace
}  // namespace sim

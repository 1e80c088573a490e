// Many seeds of drawn fleets, five minutes each, and the seeds that once found faults.
#include "tests/simulation/drawn_fleet.hpp"
#include "tests/simulation/trace_hashes.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace sim {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr std::uint64_t kSeedsPerTest = 100;

class ManyChaosScenarios : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(ManyChaosScenarios, KeepEveryRuleAndCommitInTheCalm) {
    Sums sums;
    for (std::uint64_t i = 0; i < kSeedsPerTest && !HasFatalFailure(); ++i) {
        const std::uint64_t seed = GetParam() * kSeedsPerTest + i;
        run_scenario(drawn_fleet(seed, Speed::Brisk, 5min), sums);
        if (seed < kTraceHashes.size() && sums.trace_hashes.size() > i) {
            EXPECT_EQ(sums.trace_hashes[i], kTraceHashes[seed]) << "trace hash of seed " << seed;
        }
    }
    print(sums);
    EXPECT_GT(sums.notes, kSeedsPerTest);
}

/// 500 fleets where nothing else is said; drawn_fleets_long has 2,000.
std::uint64_t batches() {
    const char* const said = std::getenv("SWARM_FLEET_BATCHES");
    return said == nullptr ? 5 : std::strtoull(said, nullptr, 10);
}

INSTANTIATE_TEST_SUITE_P(Batch, ManyChaosScenarios, ::testing::Range<std::uint64_t>(0, batches()));

class RoughChaosScenarios : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RoughChaosScenarios, KeepEveryRuleThroughDrainsDonorDeathsAndTornDisks) {
    constexpr std::uint64_t kRoughSeeds = 50;
    Sums sums;
    for (std::uint64_t i = 0; i < kRoughSeeds && !HasFatalFailure(); ++i) {
        const std::uint64_t seed = GetParam() * kRoughSeeds + i;
        run_scenario(rough_fleet(seed, Speed::Brisk, 5min), sums);
    }
    print(sums);
    std::printf(
        "%llu drains, %llu donors died, %llu disks torn\n",
        static_cast<unsigned long long>(sums.rough.drains),
        static_cast<unsigned long long>(sums.rough.donor_deaths),
        static_cast<unsigned long long>(sums.rough.torn_disks)
    );
    EXPECT_GT(sums.rough.drains, kRoughSeeds);
    EXPECT_GT(sums.rough.donor_deaths, 0U);
    EXPECT_GT(sums.rough.torn_disks, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Batch, RoughChaosScenarios, ::testing::Range<std::uint64_t>(0, batches() * 2 / 5)
);

class LyingChaosScenarios : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(LyingChaosScenarios, KeepEveryRuleAndCommitInTheCalm) {
    constexpr std::uint64_t kLyingSeeds = 50;
    Sums sums;
    for (std::uint64_t i = 0; i < kLyingSeeds && !HasFatalFailure(); ++i) {
        const std::uint64_t seed = GetParam() * kLyingSeeds + i;
        run_scenario(lying_fleet(seed, Speed::Brisk, 5min), sums);
    }
    print(sums);
    EXPECT_GT(sums.notes, kLyingSeeds);
}

INSTANTIATE_TEST_SUITE_P(
    Batch, LyingChaosScenarios, ::testing::Range<std::uint64_t>(0, batches() * 2 / 5)
);

/// Situations that led to the faults that the seeds below found.
struct Situations {
    std::uint64_t long_waves = 0;            // past the first deadline of a wave, not given up
    std::uint64_t deadlines_in_recalls = 0;  // a wave's, while members are asked what they hold
    std::uint64_t lone_movers = 0;  // or lone leavers: the others of the stage do not answer
    std::uint64_t leaves_in_recalls = 0;

    void look(RunWorld& run, PeerId at, const node::Event& event) {
        if (at == RunWorld::coordinator()) {
            look_at_coordinator(run, std::get_if<node::Received>(&event));
        }
    }

 private:
    void look_at_coordinator(RunWorld& run, const node::Received* received) {
        using Phase = swarm::coordinator::StepMachine::Phase;
        const auto* const boss = run.coordinator_role();
        if (boss == nullptr) {
            return;
        }
        const swarm::coordinator::StepMachine& step = boss->step();
        const bool recalling = step.phase() == Phase::Recalling;
        const bool running = step.phase() == Phase::Running;
        const auto first_deadline = 5s * boss->context().config.stages;
        const bool is_late = step.ledger().oldest_launch() < run.world().now() - first_deadline;
        if ((recalling || running) && is_late) {
            ++(recalling ? deadlines_in_recalls : long_waves);
        }
        leaves_in_recalls += recalling && received != nullptr &&
                             std::holds_alternative<swarm::protocol::Leave>(received->message.body);
        const swarm::run::Roster& roster = boss->context().roster;
        for (const swarm::protocol::SlotInfo& info : roster.slots()) {
            lone_movers += info.standing == swarm::protocol::Standing::Draining &&
                           roster.pickable(info.stage) == std::vector<swarm::SlotId>{info.slot};
        }
    }
};

void run_and_look(std::uint64_t seed, Situations& found) {
    Sums sums;
    ExactOptions options;
    options.on_event = [&](RunWorld& run, PeerId at, const node::Event& event) {
        found.look(run, at, event);
    };
    run_scenario(drawn_fleet(seed, Speed::Slow, 5min), sums, options);
}

// The first five seeds found faults of the protocol: waves longer than the first deadline given up
// for ever (4), a deadline that passed during a recall (10), a mover left alone in its stage (101),
// an assignment during a commit (239), a leaver awaited by a recall (252). The situations that a
// seed leads to drift with every change; the other seeds are here because they lead to the same
// situations, except that of 239, which none of the first 400 seeds reaches.
TEST(ChaosScenarios, SeedsThatFoundFaults) {
    Situations found;
    for (const std::uint64_t seed : {4, 10, 101, 239, 252, 6, 11, 13, 17, 22, 169, 223, 228}) {
        run_and_look(seed, found);
    }
    EXPECT_GT(found.long_waves, 0U);
    EXPECT_GT(found.deadlines_in_recalls, 0U);
    EXPECT_GT(found.lone_movers, 0U);
    EXPECT_GT(found.leaves_in_recalls, 0U);
}

TEST(ChaosScenarios, OneSeed) {
    const char* const seed = std::getenv("SWARM_SEED");
    const char* const speed = std::getenv("SWARM_SPEED");
    const char* const minutes = std::getenv("SWARM_MINUTES");
    ExactOptions options;
    if (seed != nullptr) {
        options.trace_line = [](const std::string& line) { std::puts(line.c_str()); };
    }
    const std::uint64_t number = seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10);
    const bool rough = std::getenv("SWARM_ROUGH") != nullptr;
    const bool lying = std::getenv("SWARM_LIARS") != nullptr;
    const bool slow = speed != nullptr && std::string(speed) == name_of(Speed::Slow);
    Sums sums;
    const std::chrono::minutes duration(minutes == nullptr ? 5 : std::atoi(minutes));
    const Speed drawn = slow ? Speed::Slow : Speed::Brisk;
    const auto draw = rough ? rough_fleet : lying ? lying_fleet : drawn_fleet;
    run_scenario(draw(number, drawn, duration), sums, options);
}

}  // namespace
}  // namespace sim

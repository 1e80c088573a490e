// A step that no peer can compute is skipped at every stage or at none, as one process skips it; a
// microbatch that only one machine cannot compute is computed by another machine.
#include "swarm/coordinator/dropped_work.hpp"
#include "tests/simulation/faulty_compute.hpp"
#include "tests/simulation/runs.hpp"

#include <gtest/gtest.h>

#include <cstdio>

namespace sim {
namespace {

using namespace std::chrono_literals;
using swarm::protocol::Leg;

constexpr std::uint64_t kSteps = 8;

RunWorldOptions fleet(std::uint32_t stages, std::uint32_t replicas) {
    RunWorldOptions options;
    options.config = oracle_config(stages, 6, kSteps);
    options.peers = stages * replicas;
    options.peer.device.units_per_s = 100;
    return options;
}

struct Where {
    std::uint32_t replicas;
    std::uint32_t stage;
    Leg leg;
};

class Skip : public testing::TestWithParam<Where> {};

TEST_P(Skip, IsTheSameAtEveryStageAndInOneProcess) {
    const auto [replicas, stage, leg] = GetParam();
    const Fault fault{{3, 5}, stage, 4, leg};
    FaultyWorld world(fleet(3, replicas), fault);
    const FaultyReference reference = train_single(fleet(3, replicas).config, fault, kSteps);
    ASSERT_EQ(reference.skipped, (std::vector<std::uint64_t>{3, 5}));
    RunWorld& run = world.run();
    run.run(600s);
    EXPECT_EQ(run.verdict(reference.run), "") << log_of(run);
    EXPECT_EQ(world.skipped(), reference.skipped);
    EXPECT_EQ(run.steps().size(), kSteps - 2);
    EXPECT_EQ(run.fenced(), 0U) << log_of(run);
    for (const node::StepSkipped& skip : run.skipped()) {
        const std::string reason = "microbatch 4 is not finite in stage " + std::to_string(stage);
        EXPECT_EQ(skip.reason, reason);
    }
}

INSTANTIATE_TEST_SUITE_P(
    AtEachStageAndLeg,
    Skip,
    testing::Values(
        Where{1, 0, Leg::Forward},
        Where{1, 1, Leg::Backward},
        Where{1, 2, Leg::Forward},
        Where{2, 0, Leg::Forward},
        Where{2, 0, Leg::Backward},
        Where{2, 1, Leg::Forward},
        Where{2, 1, Leg::Backward},
        Where{2, 2, Leg::Forward},
        Where{3, 1, Leg::Backward}
    )
);

TEST(Skips, ThreeInARowEndTheRunWithTheReason) {
    const Fault fault{{2, 3, 4, 5}, 1, 0, Leg::Backward};
    FaultyWorld world(fleet(3, 2), fault);
    RunWorld& run = world.run();
    run.run(600s);
    ASSERT_TRUE(run.failure()) << log_of(run);
    EXPECT_EQ(run.failure()->exit_code, 1);
    const std::string why = "microbatch 0 is not finite in stage 1";
    EXPECT_EQ(run.failure()->text, swarm::coordinator::skipped_too_often(4, why));
    EXPECT_EQ(world.skipped(), (std::vector<std::uint64_t>{2, 3, 4}));
    EXPECT_TRUE(run.violations().empty()) << run.violations().front();
}

TEST(Skips, TwoInARowAndTwoMoreDoNotEndTheRun) {
    const Fault fault{{1, 2, 4, 5}, 0, 2, Leg::Backward};
    FaultyWorld world(fleet(2, 2), fault);
    const FaultyReference reference = train_single(fleet(2, 2).config, fault, kSteps);
    world.run().run(600s);
    EXPECT_EQ(world.run().verdict(reference.run), "") << log_of(world.run());
    EXPECT_EQ(world.skipped(), reference.skipped);
}

TEST(Skips, AJoinerFollowsSkippedSteps) {
    const Fault fault{{2, 3, 6}, 1, 1, Leg::Forward};
    RunWorldOptions options = fleet(2, 1);
    FaultyWorld world(options, fault);
    const FaultyReference reference = train_single(options.config, fault, kSteps);
    RunWorld& run = world.run();
    ASSERT_TRUE(run.world().run_until([&] { return run.steps().size() == 1; }, 60s));
    const PeerId newcomer = run.add_server();
    run.run(600s);
    EXPECT_EQ(run.verdict(reference.run), "") << log_of(run);
    EXPECT_EQ(world.skipped(), reference.skipped);
    EXPECT_TRUE(run.server(newcomer)->context().slot) << log_of(run);
}

TEST(Skips, AreNotMadeForOneMachineThatCannotCompute) {
    for (std::uint32_t broken = 0; broken < 4; ++broken) {
        const auto fault = std::make_shared<Fault>(Fault{{0}, 0, 1, Leg::Forward});
        const auto machines = std::make_shared<std::uint32_t>(0);
        RunWorldOptions options = fleet(2, 2);
        options.make_compute = [=](const auto& config, const auto& layout) {
            std::unique_ptr<stages::StageCompute> sound =
                stages::make_oracle_compute(config, layout);
            if ((*machines)++ != broken) {
                return sound;
            }
            fault->stage = layout.stage.value;
            return std::unique_ptr<stages::StageCompute>(
                std::make_unique<FaultyCompute>(std::move(sound), layout.stage.value, fault)
            );
        };
        RunWorld run(options);  // its steps are all 0 to the fault
        run.run(600s);
        EXPECT_EQ(run.verdict(train_single(options.config)), "") << log_of(run);
        EXPECT_TRUE(run.skipped().empty());
    }
}

RunWorldOptions two_by_two() {
    RunWorldOptions options;
    options.config = oracle_config(2, 3, 3);
    options.peers = 4;
    options.world.network = {2ms, 6ms};
    options.peer.device.units_per_s = 1000;
    return options;
}

/// The victim dies before event `at`, and is back half a second later.
std::string crash_at(
    std::uint64_t at, PeerId victim, const Fault& fault, const FaultyReference& reference
) {
    FaultyWorld world(two_by_two(), fault);
    RunWorld& run = world.run();
    run.world().run_until([&] { return run.world().events() >= at || run.finished(); }, 60s);
    run.world().crash(victim);
    run.world().run_for(500ms);
    run.world().restart(victim);
    run.run(120s);
    // A coordinator that dies before it has told of a skip does not tell of it again.
    const bool told = world.skipped() == reference.skipped || victim == RunWorld::coordinator();
    const std::string verdict = run.verdict(reference.run);
    return !verdict.empty() || told ? verdict : "other steps were skipped";
}

TEST(Skips, AreTheSameWhereverAProcessDies) {
    const Fault fault{{1}, 0, 1, Leg::Backward};
    const FaultyReference reference = train_single(two_by_two().config, fault, 3);
    FaultyWorld calm(two_by_two(), fault);
    calm.run().run(60s);
    ASSERT_EQ(calm.run().verdict(reference.run), "");
    const std::uint64_t events = calm.run().world().events();
    std::vector<PeerId> victims{RunWorld::coordinator()};
    std::set<swarm::StageIndex> spared;
    for (std::uint64_t n = 1; n <= 4; ++n) {  // one of each stage lives
        if (!spared.insert(calm.run().server(peer(n))->context().stage()).second) {
            victims.push_back(peer(n));
        }
    }
    ASSERT_EQ(victims.size(), 3U);
    for (const PeerId victim : victims) {
        for (std::uint64_t at = 0; at < events; ++at) {
            ASSERT_EQ(crash_at(at, victim, fault, reference), "")
                << "peer " << victim.words[0] << " before event " << at;
        }
    }
    std::printf("%zu crashes\n", victims.size() * static_cast<std::size_t>(events));
}

}  // namespace
}  // namespace sim

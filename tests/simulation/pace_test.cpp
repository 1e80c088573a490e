// The cost that slowness may have: an overloaded stage is only slow while it is overloaded, and a
// stalled job costs a few replays, not a peer.
#include "sim/run/run_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>

namespace sim {
namespace {

using namespace std::chrono_literals;

RunWorldOptions three_by_two(std::uint64_t seed, std::uint64_t steps) {
    RunWorldOptions options;
    options.config = oracle_config(3, 8, steps);
    options.peers = 6;
    options.seed = seed;
    options.peer.device.units_per_s = 20;
    return options;
}

/// Median time of the steps that are committed within the next `window`.
swarm::Duration median_step(RunWorld& run, swarm::Duration window) {
    const std::size_t first = run.steps().size();
    run.world().run_for(window);
    std::vector<swarm::Duration> times;
    for (std::size_t i = first; i < run.steps().size(); ++i) {
        times.push_back(run.steps()[i].took);
    }
    std::sort(times.begin(), times.end());
    return times.empty() ? window : times[times.size() / 2];
}

double seconds(swarm::Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

TEST(Overload, TheStepTimeIsBackTenSecondsAfterAStageWasThreeTimesSlower) {
    const RunWorldOptions options = three_by_two(1, 150);
    RunWorld run(options);
    ASSERT_TRUE(run.world().run_until([&] { return run.steps().size() >= 10; }, 120s));
    const swarm::Duration before = median_step(run, 20s);
    const auto set_speed_of_middle = [&](double units_per_s) {
        for (std::uint64_t n = 1; n <= options.peers; ++n) {
            if (run.server(peer(n))->context().stage().value == 1) {
                run.world().set_speed(peer(n), units_per_s);
            }
        }
    };
    set_speed_of_middle(options.peer.device.units_per_s / 3);
    const swarm::Duration during = median_step(run, 60s);
    set_speed_of_middle(options.peer.device.units_per_s);
    run.world().run_for(10s);
    const swarm::Duration after = median_step(run, 20s);
    std::printf(
        "median step: %.3f s before, %.3f s overloaded, %.3f s after\n",
        seconds(before),
        seconds(during),
        seconds(after)
    );
    ASSERT_FALSE(run.finished());
    EXPECT_GT(seconds(during), 1.2 * seconds(before));  // the overload was a real one
    EXPECT_LE(seconds(after), 1.2 * seconds(before));
    EXPECT_EQ(run.fenced(), 0U);
    run.run(600s);
    EXPECT_EQ(run.verdict(train_single(options.config)), "");
}

struct Totals {
    std::uint64_t steps = 0;
    std::uint64_t stalls = 0;
    std::uint64_t replays = 0;
    std::uint64_t fenced = 0;
};

/// One run with 2 % of the jobs stalled; nothing else is wrong.
void run_with_stalls(std::uint64_t seed, const Reference& reference, Totals& totals) {
    RunWorld run(three_by_two(seed, 10));
    swarm::Rng rng(seed, 78);
    // An ordinary job takes 150 ms at most.
    run.observe_events([&](PeerId, const node::Event& event) {
        const auto* const computed = std::get_if<node::Computed>(&event);
        totals.stalls += computed && computed->took >= 1s ? 1 : 0;
    });
    run.world().set_job_stalls(2, 100, 1s + std::chrono::milliseconds(rng.below(4001)));
    run.run(1200s);
    EXPECT_EQ(run.verdict(reference), "") << "seed " << seed;
    totals.steps += run.steps().size();
    totals.replays += run.replayed();
    totals.fenced += run.fenced();
}

TEST(Stalls, NoHealthyPeerIsFencedAndAStalledJobCostsFewReplays) {
    const Reference reference = train_single(three_by_two(1, 10).config);
    Totals totals;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        run_with_stalls(seed, reference, totals);
    }
    const double replays_per_stall =
        static_cast<double>(totals.replays) / static_cast<double>(totals.stalls);
    const double fences_per_step =
        static_cast<double>(totals.fenced) / static_cast<double>(totals.steps);
    std::printf(
        "%llu steps, %llu stalled jobs: %.2f replays per stalled job, %.4f fences per step\n",
        static_cast<unsigned long long>(totals.steps),
        static_cast<unsigned long long>(totals.stalls),
        replays_per_stall,
        fences_per_step
    );
    EXPECT_GT(totals.stalls, 500U);
    EXPECT_LE(replays_per_stall, 1.5);
    EXPECT_LE(fences_per_step, 0.01);
}

TEST(FirstStep, ReplaysNothingWhereAWaveTakesFiveTimesTheShortestLimit) {
    RunWorldOptions options;
    options.config = oracle_config(6, 6, 2);
    options.peers = 6;
    options.peer.device.units_per_s = 1;  // a wave takes 1 s forward and 2 s back in each stage
    RunWorld run(options);
    run.run(600s);
    EXPECT_EQ(run.verdict(train_single(options.config)), "");
    ASSERT_FALSE(run.steps().empty());
    EXPECT_GT(seconds(run.steps().front().took), 25.0);
    EXPECT_EQ(run.replayed(), 0U);
}

// A peer's own claim is never used: the coordinator tells the rates that the senders below have
// measured.
TEST(MeasuredSpeeds, AreToldWithTheSharesInEveryStage) {
    RunWorldOptions options;
    options.config = oracle_config(2, 32, 12);
    options.peers = 4;
    options.peer.device.units_per_s = 20;
    RunWorld run(options);
    std::map<swarm::StageIndex, std::map<PeerId, double>> told;
    run.observe_reports([&](PeerId, const node::Report& report) {
        if (const auto* const share = std::get_if<node::WorkCounted>(&report)) {
            told[share->stage][share->peer] = share->units_per_s;
        }
    });
    ASSERT_TRUE(run.world().run_until([&] { return run.steps().size() == 1; }, 60s));
    for (std::uint32_t stage = 0; stage < 2; ++stage) {
        const auto& roster = run.coordinator_role()->context().roster;
        const swarm::SlotId slot = roster.members({stage}).front();
        run.world().set_speed(roster.find(slot)->peer, 5);
    }
    run.run(600s);
    for (std::uint32_t stage = 0; stage < 2; ++stage) {
        const auto& speeds = told.at({stage});
        ASSERT_EQ(speeds.size(), 2U);
        const auto [slow, fast] =
            std::minmax(speeds.begin()->second, std::next(speeds.begin())->second);
        std::printf("stage %u: %.2f and %.2f units a second\n", stage, slow, fast);
        EXPECT_GE(fast / slow, 3) << "stage " << stage;
        EXPECT_LE(fast / slow, 6) << "stage " << stage;
    }
}

}  // namespace
}  // namespace sim

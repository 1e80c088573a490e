// Evaluations of a run by its peers, while these crash: the losses are those of one process, and
// the steps are as if nobody had asked.
#include "sim/run/run_world.hpp"
#include "stages/single/single_run.hpp"

#include <gtest/gtest.h>

#include <set>

namespace sim {
namespace {

using namespace std::chrono_literals;
using swarm::run::HeldOutLosses;

/// Two texts of the oracle, whose tokens are ids.
std::vector<swarm::run::HeldOutText> two_texts() {
    return {{"first", {0, 1, 2, 3, 9, 10}}, {"second", {4, 5, 1, 2}}};
}

RunWorldOptions evaluated_run() {
    RunWorldOptions options;
    options.config = oracle_config(2, 3, 5);
    options.config.eval.every_steps = 2;
    options.peers = 4;
    options.world.network = {2ms, 6ms};
    options.peer.device.units_per_s = 1000;
    options.held_out = two_texts();
    return options;
}

/// Losses by step, as one process finds them.
std::map<std::uint64_t, double> losses_of_one_process(const swarm::run::RunConfig& config) {
    stages::SingleRun run(config, &stages::make_oracle_compute, {});
    std::map<std::uint64_t, double> losses;
    while (run.version().step < config.steps) {
        EXPECT_TRUE(run.step().has_value());
        if (swarm::run::is_evaluation_due(config, run.version().step)) {
            losses[run.version().step] = run.evaluate(two_texts())->loss;
        }
    }
    return losses;
}

std::map<std::uint64_t, double> losses_of(const RunWorld& run) {
    std::map<std::uint64_t, double> losses;
    for (const HeldOutLosses& found : run.held_out()) {
        losses[found.step] = found.loss;
    }
    return losses;
}

/// The events at which an evaluation of the run without faults is under way.
std::vector<std::uint64_t> events_of_evaluations(const RunWorldOptions& options) {
    RunWorld run(options);
    std::vector<std::uint64_t> events;
    run.world().run_until(
        [&] {
            const auto* const boss = run.coordinator_role();
            if (boss != nullptr && boss->evaluates()) {
                events.push_back(run.world().events());
            }
            return run.finished();
        },
        60s
    );
    return events;
}

/// One peer per stage is never crashed; the others are the victims.
std::vector<PeerId> spare_peers(const RunWorldOptions& options) {
    RunWorld run(options);
    run.world().run_until([&] { return run.steps().size() == 1; }, 60s);
    std::set<swarm::StageIndex> kept;
    std::vector<PeerId> found;
    for (std::uint64_t n = 1; n <= options.peers; ++n) {
        if (!kept.insert(run.server(peer(n))->context().stage()).second) {
            found.push_back(peer(n));
        }
    }
    return found;
}

void crash_at(RunWorld& run, std::uint64_t event, PeerId victim) {
    run.world().run_until([&] { return run.world().events() >= event || run.finished(); }, 60s);
    run.world().crash(victim);
    run.world().run_for(500ms);
    run.world().restart(victim);
    run.run(300s);
}

TEST(Evaluations, HaveTheLossesOfOneProcess) {
    const RunWorldOptions options = evaluated_run();
    RunWorld run(options);
    run.run(60s);
    EXPECT_EQ(run.verdict(train_single(options.config)), "");
    const auto expected = losses_of_one_process(options.config);
    EXPECT_EQ(expected.size(), 3U);  // after steps 2, 4 and 5
    EXPECT_EQ(losses_of(run), expected);
    EXPECT_NE(expected.at(2), expected.at(4));
}

TEST(Evaluations, KeepTheirLossesWhenAPeerCrashesInTheMiddle) {
    const RunWorldOptions options = evaluated_run();
    const Reference reference = train_single(options.config);
    const auto expected = losses_of_one_process(options.config);
    const std::vector<std::uint64_t> events = events_of_evaluations(options);
    ASSERT_GT(events.size(), 20U);
    for (const PeerId victim : spare_peers(options)) {
        for (const std::uint64_t event : events) {
            RunWorld run(options);
            crash_at(run, event, victim);
            ASSERT_EQ(run.verdict(reference), "")
                << "peer " << victim.words[0] << " before event " << event;
            ASSERT_EQ(losses_of(run), expected)
                << "peer " << victim.words[0] << " before event " << event;
        }
    }
}

/// A coordinator that begins again leaves out the evaluation that it does not know of.
TEST(Evaluations, DoNotHangWhenTheCoordinatorCrashes) {
    const RunWorldOptions options = evaluated_run();
    const Reference reference = train_single(options.config);
    const auto expected = losses_of_one_process(options.config);
    for (const std::uint64_t event : events_of_evaluations(options)) {
        RunWorld run(options);
        crash_at(run, event, RunWorld::coordinator());
        ASSERT_EQ(run.verdict(reference), "") << "before event " << event;
        for (const auto& [step, loss] : losses_of(run)) {
            ASSERT_EQ(loss, expected.at(step)) << "before event " << event;
        }
        ASSERT_GE(losses_of(run).size() + 1, expected.size()) << "before event " << event;
    }
}

/// Its losses stay as they are, so patience ends it after step 6.
RunWorldOptions hopeless_run() {
    RunWorldOptions options = evaluated_run();
    options.config.steps = 100;
    options.config.eval.patience = 2;
    options.config.optimizer.learning_rate = 0;
    options.config.optimizer.final_learning_rate = 0;
    return options;
}

TEST(Evaluations, EndARunThatGetsNoBetter) {
    const RunWorldOptions options = hopeless_run();
    RunWorld run(options);
    EXPECT_TRUE(run.run(60s));
    EXPECT_EQ(run.steps().size(), 6U);  // the best after step 2, no better one after 4 and 6
    EXPECT_FALSE(run.failure().has_value());
    swarm::run::RunConfig six = options.config;
    six.steps = 6;
    EXPECT_EQ(run.verdict(train_single(six)), "");
}

TEST(Evaluations, ACoordinatorThatCrashesWhileItEndsTheRunTrainsNoFurther) {
    const RunWorldOptions options = hopeless_run();
    swarm::run::RunConfig six = options.config;
    six.steps = 6;
    const Reference reference = train_single(six);
    std::vector<std::uint64_t> events;  // from the decision to the end
    RunWorld undisturbed(options);
    undisturbed.world().run_until(
        [&] {
            if (undisturbed.ended_after()) {
                events.push_back(undisturbed.world().events());
            }
            return undisturbed.finished();
        },
        60s
    );
    ASSERT_EQ(undisturbed.ended_after(), 6U);
    ASSERT_GT(events.size(), 5U);
    for (const std::uint64_t event : events) {
        RunWorld run(options);
        crash_at(run, event, RunWorld::coordinator());
        ASSERT_EQ(run.verdict(reference), "") << "before event " << event;
        ASSERT_EQ(run.steps().size(), 6U) << "before event " << event;
    }
}

TEST(Evaluations, ABestOneGetsACheckpoint) {
    RunWorldOptions options = evaluated_run();
    options.config.checkpoint_every = 1000;
    RunWorld run(options);
    std::set<std::uint64_t> written;
    run.observe_reports([&](PeerId, const node::Report& report) {
        if (const auto* const checkpoint = std::get_if<node::CheckpointWritten>(&report)) {
            written.insert(checkpoint->version.step);
        }
    });
    run.run(60s);
    EXPECT_EQ(run.verdict(train_single(options.config)), "");
    ASSERT_EQ(run.held_out().size(), 3U);
    EXPECT_TRUE(run.held_out()[0].is_best);
    EXPECT_TRUE(written.contains(2));
}

}  // namespace
}  // namespace sim

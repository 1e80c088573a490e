// Codecs that the coordinator chooses on the way: the codecs of a step are on disk before the step
// begins, whatever happens to the coordinator or to a step.
#include "tests/simulation/faulty_compute.hpp"
#include "tests/unit/stages/small_models.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace sim {
namespace {

using namespace std::chrono_literals;
using swarm::protocol::Leg;

constexpr std::uint64_t kSteps = 20;

/// Two stages of two peers. A microbatch takes 60 ms of a device, and its activation of 17 KiB in
/// int8 takes 90 ms of a line: a codec with half as many bits pays.
RunWorldOptions slow_lines() {
    RunWorldOptions options;
    options.config = stages::test::small_run(2);
    options.config.codec = swarm::run::CodecSetting::automatic();
    options.config.steps = kSteps;
    options.config.microbatches = 12;
    options.config.batch = 8;
    options.config.model.context = 64;
    options.config.model.width = 32;
    options.peers = 4;
    options.peer.device.units_per_s = 50'000;
    options.peer.up_bytes_per_s = 200'000;
    options.make_compute = &stages::test::make_noise_compute;
    return options;
}

std::string text_of(const RunWorld& run) {
    std::string text = run.failure() ? run.failure()->text + '\n' : "";
    for (const std::string& line : run.log()) {
        text += line + '\n';
    }
    return text;
}

using CodecsByStep = std::map<std::uint64_t, std::set<swarm::run::LegCodecs>>;

/// Notes the codecs of the legs that are launched.
void note_codecs(RunWorld& run, CodecsByStep& noted) {
    run.observe_sends([&noted](PeerId, const node::Send& send) {
        const auto* const launch = std::get_if<swarm::protocol::Forward>(&send.message.body);
        if (launch && launch->path.empty()) {
            noted[launch->version.step].insert(launch->codecs);
        }
    });
}

/// The first step that does not travel in int8.
std::uint64_t first_change(const CodecsByStep& codecs) {
    using enum swarm::protocol::CodecId;
    for (const auto& [step, of_step] : codecs) {
        EXPECT_EQ(of_step.size(), 1U) << "step " << step;
        if (*of_step.begin() != swarm::run::LegCodecs{Int8, Int8}) {
            return step;
        }
    }
    return kSteps;
}

TEST(ChosenCodecs, AreTheSameAfterARestartOfTheCoordinator) {
    const RunWorldOptions options = slow_lines();
    CodecsByStep codecs;
    RunWorld run(options);
    note_codecs(run, codecs);
    const auto has_changed = [&] { return first_change(codecs) < kSteps; };
    ASSERT_TRUE(run.world().run_until(has_changed, 120s)) << text_of(run);
    run.world().restart(RunWorld::coordinator());
    EXPECT_TRUE(run.run(600s));
    stages::SingleRun single(options.config, options.make_compute, {});
    Reference reference;
    for (std::uint64_t step = 0; step < kSteps; ++step) {
        reference.losses.push_back(single.step()->loss);
    }
    reference.weights_sha256 = single.weights_sha256();
    EXPECT_EQ(run.verdict(reference), "");
    const std::uint64_t change = first_change(codecs);
    EXPECT_GT(change, 0U);
    for (std::uint64_t step = change; step < kSteps; ++step) {
        EXPECT_EQ(codecs[step], codecs[change]) << "step " << step;
    }
}

/// In mode sparse, too, all peers of a boundary send a step in the same codecs, whichever weights
/// they train on.
TEST(ChosenCodecs, AreChosenInModeSparse) {
    RunWorldOptions options = slow_lines();
    options.config.mode = swarm::run::SyncMode::Sparse;
    options.config.sync_every = 4;
    CodecsByStep codecs;
    RunWorld run(options);
    note_codecs(run, codecs);
    ASSERT_TRUE(run.run(600s)) << text_of(run);
    const std::uint64_t change = first_change(codecs);
    EXPECT_GT(change, 0U);
    EXPECT_LT(change, kSteps);
    for (const auto& [step, of_step] : codecs) {
        EXPECT_EQ(of_step.size(), 1U) << "step " << step;
    }
}

/// The first step that was committed and did not travel in int8.
std::uint64_t first_change(const RunWorld& run) {
    for (const node::StepCommitted& step : run.steps()) {
        if (step.codecs != "int8/int8") {
            return step.step;
        }
    }
    return kSteps;
}

/// No codec is chosen with a skip, whose record says nothing of codecs.
TEST(ChosenCodecs, AreNotChosenWithASkippedStep) {
    RunWorld undisturbed(slow_lines());
    ASSERT_TRUE(undisturbed.run(600s)) << text_of(undisturbed);
    const std::uint64_t change = first_change(undisturbed);
    ASSERT_GT(change, 0U);
    ASSERT_LT(change + 1, kSteps);
    FaultyWorld world(slow_lines(), Fault{{change - 1}, 0, 1, Leg::Backward});
    ASSERT_TRUE(world.run().run(600s));
    EXPECT_EQ(world.skipped(), (std::vector<std::uint64_t>{change - 1}));
    EXPECT_EQ(first_change(world.run()), change + 1);
}

}  // namespace
}  // namespace sim

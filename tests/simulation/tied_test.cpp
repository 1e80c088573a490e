// Runs whose embedding is tied to the head, in stages of their own: whatever happens to peers, both
// stages end with the matrix that one process makes.
#include "chaos.hpp"
#include "story.hpp"
#include "tests/unit/stages/small_models.hpp"

#include <cstdlib>

namespace sim {
namespace {

using stages::test::make_noise_compute;

/// 50 ms of work per forward leg of a layer; slices of 64 weights.
RunWorldOptions tied_options(
    std::uint32_t stages, std::uint32_t peers, std::uint64_t steps, std::uint64_t seed = 1
) {
    RunWorldOptions options;
    options.config = stages::test::small_run(stages);
    options.config.model.tied_embeddings = true;
    options.config.steps = steps;
    options.peers = peers;
    options.seed = seed;
    options.make_compute = make_noise_compute;
    options.peer.device.units_per_s = 20.0 * options.config.batch * options.config.model.context;
    options.slice_bytes_max = 64 * sizeof(std::int64_t);
    return options;
}

Reference alone(const swarm::run::RunConfig& config) {
    stages::SingleRun run(config, make_noise_compute, {});
    Reference reference;
    for (std::uint64_t step = 0; step < config.steps; ++step) {
        reference.losses.push_back(run.step()->loss);
    }
    reference.weights_sha256 = run.weights_sha256();
    return reference;
}

TEST(Tied, RunsOfAnyShapeEqualOneProcess) {
    const Reference one = alone(tied_options(1, 1, 4).config);
    for (const std::uint32_t stages : {1U, 2U, 3U}) {
        for (const std::uint32_t replicas : {1U, 2U, 3U}) {
            for (const std::uint64_t slice_bytes : {64U, 8U << 20}) {
                RunWorldOptions options = tied_options(stages, stages * replicas, 4);
                options.slice_bytes_max = slice_bytes;
                RunWorld run(options);
                run.run(300s);
                EXPECT_EQ(run.verdict(one), "") << stages << " x " << replicas;
                EXPECT_EQ(run.replayed() + run.fenced(), 0U);
            }
        }
    }
}

TEST(Tied, ManySeedsOfChaosEqualOneProcess) {
    const char* const only = std::getenv("SWARM_SEED");
    const std::uint64_t first = only ? std::strtoull(only, nullptr, 10) : 1;
    const std::uint64_t last = only ? first : 40;
    const Reference reference = alone(tied_options(3, 6, 6).config);
    std::uint64_t replayed = 0;
    for (std::uint64_t seed = first; seed <= last && !testing::Test::HasFailure(); ++seed) {
        RunWorld run(tied_options(3, 6, 6, seed));
        HealthWatch health(run);
        run_chaos(run, health, seed);
        EXPECT_EQ(run.verdict(reference), "")
            << "replay with: SWARM_SEED=" << seed << " simulation_test --gtest_filter=Tied.Many*";
        replayed += run.replayed();
    }
    EXPECT_TRUE(only || replayed > 0);
}

/// The second member of each of two stages crashes before every event in turn.
TEST(Tied, ACrashAtAnyEventEndsAsOneProcess) {
    RunWorldOptions options = tied_options(2, 4, 2);
    options.peer.device.units_per_s *= 50;
    options.slice_bytes_max = 8U << 20;
    const Reference reference = alone(options.config);
    RunWorld calm(options);
    calm.run(60s);
    ASSERT_EQ(calm.verdict(reference), "");
    const std::uint64_t events = calm.world().events();
    ASSERT_GT(events, 100U);
    for (std::uint32_t stage = 0; stage < 2; ++stage) {
        const PeerId victim = [&] {
            Story story(options);
            EXPECT_TRUE(story.reach_step(1));
            return story.members(stage).back();
        }();
        for (std::uint64_t at = 0; at < events; ++at) {
            RunWorld run(options);
            run.world().run_until(
                [&] { return run.world().events() >= at || run.finished(); }, 60s
            );
            run.world().crash(victim);
            run.world().run_for(500ms);
            run.world().restart(victim);
            run.run(120s);
            ASSERT_EQ(run.verdict(reference), "") << "stage " << stage << " before event " << at;
        }
    }
}

/// A peer that freezes keeps its replicas waiting, and these the other stage: only the first peer
/// is to blame.
TEST(Tied, OnlyThePeerThatFreezesInAReductionIsFenced) {
    for (const std::uint32_t stage : {0U, 1U}) {
        const RunWorldOptions options = tied_options(2, 6, 6);
        Story story(options);
        ASSERT_TRUE(story.reach_step(2)) << story.log();
        const PeerId victim = story.members(stage).front();
        ASSERT_TRUE(story.until_received<protocol::Reduce>(
            [&](PeerId, PeerId to, const protocol::Reduce&) { return to == victim; }
        ));
        story.world().freeze(victim);
        story.run().run(300s);
        EXPECT_EQ(story.run().verdict(alone(options.config)), "") << story.log();
        EXPECT_EQ(story.run().fenced(), 1U) << story.log();
        EXPECT_FALSE(story.has_slot(victim));
    }
}

/// First and last of three stages have nothing else to say to each other.
TEST(Tied, StagesThatAreFarApartAreLinked) {
    const RunWorldOptions options = tied_options(3, 3, 6);
    Story story(options);
    ASSERT_TRUE(story.reach_step(2)) << story.log();
    const PeerId first = story.members(0).front();
    const PeerId last = story.members(2).front();
    std::uint64_t parts = 0;
    story.on_send<protocol::Part>([&](PeerId from, PeerId to, const protocol::Part& part) {
        EXPECT_TRUE(part.tied_into);
        EXPECT_TRUE((from == first && to == last) || (from == last && to == first));
        ++parts;
    });
    story.run().run(300s);
    EXPECT_EQ(story.run().verdict(alone(options.config)), "") << story.log();
    EXPECT_GT(parts, 100U);
    story.stop_watching();
}

/// A frame that a link loses in the middle of a swap is sent again.
TEST(Tied, ALinkThatIsCutWhileSumsAreSwappedCostsNoMember) {
    const RunWorldOptions options = tied_options(3, 6, 6);
    Story story(options);
    ASSERT_TRUE(story.reach_step(2)) << story.log();
    PeerId from;
    PeerId to;
    ASSERT_TRUE(story.until_sent<protocol::Part>(
        [&](PeerId sender, PeerId receiver, const protocol::Part& part) {
            from = sender;
            to = receiver;
            return part.tied_into.has_value();
        }
    ));
    story.world().reset_link(from, to, Lane::Bulk);
    story.run().run(300s);
    EXPECT_EQ(story.run().verdict(alone(options.config)), "") << story.log();
    EXPECT_EQ(story.run().fenced(), 0U) << story.log();
}

}  // namespace
}  // namespace sim

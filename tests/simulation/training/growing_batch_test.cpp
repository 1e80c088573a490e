// Runs whose steps have more microbatches as they go on: whatever happens to peers, they end as one
// process does, and every step counts exactly its own.
#include "tests/simulation/chaos.hpp"
#include "tests/simulation/story.hpp"
#include "tests/unit/stages/small_models.hpp"

namespace sim {
namespace {

RunWorldOptions growing_options(std::uint32_t stages, std::uint32_t peers, std::uint64_t seed = 1) {
    RunWorldOptions options;
    options.config = stages::test::small_run(stages);
    options.config.steps = 6;
    options.config.microbatches = 7;
    options.config.first_microbatches = 1;
    options.config.grow_steps = 4;
    options.peers = peers;
    options.seed = seed;
    options.make_compute = stages::test::make_noise_compute;
    options.peer.device.units_per_s = 20.0 * options.config.batch * options.config.model.context;
    return options;
}

Reference alone(const swarm::run::RunConfig& config) {
    stages::SingleRun run(config, stages::test::make_noise_compute, {});
    Reference reference;
    for (std::uint64_t step = 0; step < config.steps; ++step) {
        reference.losses.push_back(run.step()->loss);
    }
    reference.weights_sha256 = run.weights_sha256();
    return reference;
}

TEST(GrowingBatch, RunsOfAnyShapeEqualOneProcess) {
    const Reference one = alone(growing_options(1, 1).config);
    for (const std::uint32_t stages : {1U, 3U}) {
        for (const std::uint32_t replicas : {1U, 2U}) {
            RunWorld run(growing_options(stages, stages * replicas));
            run.run(300s);
            EXPECT_EQ(run.verdict(one), "") << stages << " x " << replicas;
        }
    }
}

TEST(GrowingBatch, SeedsOfChaosEqualOneProcess) {
    const Reference reference = alone(growing_options(3, 6).config);
    for (std::uint64_t seed = 1; seed <= 12 && !testing::Test::HasFailure(); ++seed) {
        RunWorld run(growing_options(3, 6, seed));
        HealthWatch health(run);
        run_chaos(run, health, seed);
        EXPECT_EQ(run.verdict(reference), "") << "seed " << seed;
    }
}

}  // namespace
}  // namespace sim

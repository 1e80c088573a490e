// The size of a reduction's parts with real gradients of the demo model.
#include "stages/single/single_run.hpp"
#include "swarm/run/partition.hpp"
#include "swarm/run/state_chunk.hpp"
#include "tests/torch/license_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

namespace stages {
namespace {

using test::license_text;
using test::make_llama;

constexpr std::uint64_t kSteps = 20;
constexpr std::uint32_t kReplicas = 2;

swarm::run::RunConfig demo() {
    swarm::run::RunConfig config;
    config.stages = 1;
    return config;
}

std::unique_ptr<StageWorker> make_worker(const swarm::run::RunConfig& config) {
    const auto layout = swarm::run::partition(config)[0];
    return std::make_unique<StageWorker>(config, layout, make_llama(config, layout));
}

}  // namespace

TEST(ReduceParts, AreShortAtStepTwentyOfTheDemoModel) {
    const swarm::run::RunConfig config = demo();
    const swarm::run::Corpus corpus = license_text();
    ASSERT_FALSE(corpus.empty());
    SingleRun run(config, make_llama, corpus);
    while (run.version().step < kSteps) {
        const auto step = run.step();
        ASSERT_TRUE(step) << step.error().detail;
        ASSERT_FALSE(step->skipped);
    }
    // One of two replicas has every other microbatch, and sends the half that the other one owns.
    const auto worker = make_worker(config);
    worker->start_from(run.state(0));
    const swarm::run::BatchPlan plan(config, corpus);
    for (std::uint32_t id = 0; id < config.microbatches; id += kReplicas) {
        const StageWorker::Leg leg{
            kSteps, {{id}, swarm::make_epoch(1, 1)}, plan.tokens(kSteps, {id}), {}};
        ASSERT_TRUE(worker->forward_tail(leg));
        worker->accumulate(leg.key);
    }
    const Slices slices(worker->extended_elements(), kReplicas);
    worker->begin_result(0, slices);
    const Payload raw = worker->scatter_part(1);
    const Payload packed = worker->packed_scatter_part(1);
    const auto elements = static_cast<double>(raw.envelope().elements());
    const double bytes = static_cast<double>(packed.bytes().size()) / elements;
    std::printf("%.0f elements: %.3f bytes per element, 8 as they are\n", elements, bytes);
    EXPECT_GT(elements, 500'000);
    EXPECT_LE(bytes, 4.6);

    const auto owner = make_worker(config);
    const auto other = make_worker(config);
    for (const auto& [at, part] : {std::pair{&owner, &raw}, {&other, &packed}}) {
        (*at)->begin_result(1, slices);
        const auto added = (*at)->add_part(1, *part);
        ASSERT_TRUE(added) << added.error().detail;
    }
    const Payload from_raw = owner->finish_slice(1);
    const Payload from_packed = other->finish_slice(1);
    EXPECT_TRUE(std::ranges::equal(from_raw.bytes(), from_packed.bytes()));
}

/// The share that the simulator reckons with.
TEST(StateChunks, AreLittleShorterAtStepTwentyOfTheDemoModel) {
    const swarm::run::Corpus corpus = license_text();
    SingleRun run(demo(), make_llama, corpus);
    while (run.version().step < kSteps) {
        ASSERT_TRUE(run.step());
    }
    const StageState state = run.state(0);
    double raw = 0;
    double packed = 0;
    for (std::uint32_t chunk = 0; chunk < state.chunk_count(); ++chunk) {
        const Payload bytes = state.chunk(chunk);
        raw += static_cast<double>(bytes.bytes().size());
        packed += static_cast<double>(swarm::run::pack_chunk(bytes).bytes().size());
    }
    std::printf("%.0f bytes of a state: %.3f as byte planes\n", raw, packed / raw);
    EXPECT_NEAR(packed / raw, swarm::run::kPackedStateShare, 0.01);
}

}  // namespace stages

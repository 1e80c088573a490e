// One process trains a Llama whose head is its embedding matrix.
#include "stages/single/single_run.hpp"
#include "tests/torch/license_text.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace stages {
namespace {

using test::license_text;
using test::make_llama;

constexpr int kTiedSteps = 6;

swarm::run::RunConfig small_tied_run(std::uint32_t stages) {
    swarm::run::RunConfig config;
    config.stages = stages;
    config.steps = kTiedSteps;
    config.microbatches = 3;
    config.batch = 2;
    config.model.layers = 3;
    config.model.width = 16;
    config.model.heads = 2;
    config.model.kv_heads = 2;
    config.model.ffn_width = 32;
    config.model.context = 16;
    config.model.tied_embeddings = true;
    config.optimizer.warmup_steps = 1;
    return config;
}

struct Trained {
    double first_loss = 0;
    double last_loss = 0;
    swarm::Digest weights;
};

Trained train(const swarm::run::RunConfig& config) {
    SingleRun run(config, make_llama, license_text());
    Trained trained;
    for (int step = 0; step < kTiedSteps; ++step) {
        const auto record = run.step();
        EXPECT_TRUE(record.has_value() && !record->skipped);
        trained.last_loss = record.has_value() ? record->loss : 0;
        trained.first_loss = step == 0 ? trained.last_loss : trained.first_loss;
    }
    trained.weights = run.weights_sha256();
    return trained;
}

}  // namespace

TEST(TiedEmbeddings, TrainToTheSameBitsHoweverTheModelIsSplit) {
    const Trained one = train(small_tied_run(1));
    EXPECT_LT(one.last_loss, one.first_loss);
    for (const std::uint32_t stages : {2U, 3U}) {
        const Trained split = train(small_tied_run(stages));
        EXPECT_EQ(split.weights, one.weights) << stages;
        EXPECT_EQ(split.last_loss, one.last_loss) << stages;
    }
    auto untied = small_tied_run(1);
    untied.model.tied_embeddings = false;
    EXPECT_NE(train(untied).weights, one.weights);
}

}  // namespace stages

#include "stacking/models/run_checkpoint.hpp"

#include "stacking/models/any_model.hpp"
#include "stacking/models/hf_folder.hpp"
#include "stacking/models/model_digest.hpp"
#include "stacking/models/training/shared_layers.hpp"
#include "stacking/models/training/trained_model.hpp"
#include "stages/files/checkpoint.hpp"
#include "swarm/base/digest.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace stacking::models {
namespace {

namespace fs = std::filesystem;
using stages::StageState;
using swarm::ErrorCode;

swarm::run::RunConfig run_of(std::uint32_t stages) {
    swarm::run::RunConfig run;
    run.name = "small";
    run.stages = stages;
    run.model.layers = 4;
    run.model.width = 16;
    run.model.kv_heads = 2;
    run.model.ffn_width = 24;
    run.model.context = 12;
    return run;
}

/// Writes the initial weights as the checkpoint of a run at this step.
fs::path write(const fs::path& parent, const swarm::run::RunConfig& run, std::uint64_t step = 20) {
    std::vector<StageState> states;
    for (const auto& layout : swarm::run::partition(run)) {
        states.push_back(StageState::from_seed(run, layout));
        states.back().set_version({0, step});
    }
    std::vector<const StageState*> views;
    for (const StageState& state : states) {
        views.push_back(&state);
    }
    const auto written = stages::write_checkpoint(parent, run, views);
    EXPECT_TRUE(written.has_value());
    return written ? *written : fs::path();
}

fs::path write(const fs::path& parent, std::uint32_t stages, std::uint64_t step = 20) {
    return write(parent, run_of(stages), step);
}

void damage(const fs::path& file) {
    std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(-1, std::ios::end);
    out.put('x');
}

class RunCheckpointTest : public testing::Test {
 protected:
    stages::test::ScratchFolder scratch;
};

TEST_F(RunCheckpointTest, HasTheWeightsOfTheRunHoweverManyStagesWroteIt) {
    const swarm::run::RunConfig run = run_of(1);
    const auto whole = StageState::from_seed(run, swarm::run::partition(run).front());
    const std::vector<float> expected(whole.weights().begin(), whole.weights().end());
    for (const std::uint32_t stages : {1U, 3U, 4U}) {
        const fs::path folder = write(scratch.path() / std::to_string(stages), stages);
        const auto model = open_run_checkpoint(folder);
        ASSERT_TRUE(model.has_value()) << model.error().detail;
        EXPECT_EQ(model->architecture().name, "small, step 20");
        EXPECT_EQ(*model->read_stage(split(model->architecture(), 1).front()), expected);
        std::vector<float> parts;
        for (const auto& layout : split(model->architecture(), 2)) {
            const auto part = *model->read_stage(layout);
            parts.insert(parts.end(), part.begin(), part.end());
        }
        EXPECT_EQ(parts, expected);
    }
}

TEST_F(RunCheckpointTest, SaysWhetherTheHeadIsTheEmbedding) {
    swarm::run::RunConfig run = run_of(2);
    EXPECT_FALSE(open_run_checkpoint(write(scratch.path(), run))->architecture().tied_embeddings);
    run.model.tied_embeddings = true;
    const auto tied = open_run_checkpoint(write(scratch.path() / "tied", run));
    ASSERT_TRUE(tied.has_value()) << tied.error().detail;
    EXPECT_TRUE(tied->architecture().tied_embeddings);
    const auto ends = split(tied->architecture(), 2);
    const auto first = *tied->read_stage(ends.front());
    const auto last = *tied->read_stage(ends.back());
    const std::size_t matrix = swarm::run::tied_elements(run);
    EXPECT_TRUE(std::equal(
        first.begin(),
        first.begin() + static_cast<std::ptrdiff_t>(matrix),
        last.end() - static_cast<std::ptrdiff_t>(matrix),
        last.end()
    ));
}

TEST_F(RunCheckpointTest, RepeatedLayersAreLayersThatShareTheirWeights) {
    swarm::run::RunConfig run = run_of(2);
    run.model.layers = 2;
    const auto once = open_run_checkpoint(write(scratch.path() / "once", run));
    run.model.repeat = 3;
    const auto model = open_run_checkpoint(write(scratch.path() / "often", run));
    ASSERT_TRUE(model.has_value()) << model.error().detail;
    EXPECT_EQ(model->architecture().model.layers, 6U);
    EXPECT_EQ(layers_of_their_own(*model), 2U);
    EXPECT_EQ(layers_of_their_own(*once), 2U);
    for (std::uint32_t layer = 0; layer < 6; ++layer) {
        EXPECT_EQ(repeats_layer_before(*model, layer), layer % 3 != 0) << layer;
        const std::string own = "layers." + std::to_string(layer) + ".mlp.w2";
        const std::string shared = "layers." + std::to_string(layer / 3) + ".mlp.w2";
        EXPECT_EQ(*model->read(own), *once->read(shared)) << own;
    }
    EXPECT_FALSE(model->tensors().contains("layers.6.mlp.w2"));
    EXPECT_EQ(*model->read("head.weight"), *once->read("head.weight"));
}

TEST_F(RunCheckpointTest, ARunWithBottlenecksHasThemBetweenItsStages) {
    swarm::run::RunConfig run = run_of(2);
    run.model.bottleneck = 8;
    run.model.repeat = 3;
    const auto model = open_run_checkpoint(write(scratch.path() / "narrow", run));
    ASSERT_TRUE(model.has_value()) << model.error().detail;
    const Architecture& is = model->architecture();
    EXPECT_EQ(is.traits.bottlenecks, (Bottlenecks{8, {6}}));
    EXPECT_EQ(model->tensors().find("boundary.0.up")->second.shape, (std::vector{16U, 8U}));
    EXPECT_TRUE(check_stages(is, 1).has_value());
    EXPECT_EQ(check_stages(is, 2).error().code, ErrorCode::Unsupported);
    EXPECT_EQ(as_trained(is).error().code, ErrorCode::Unsupported);
    const auto exported = write_hf_folder(*model, scratch.path() / "folder", [](auto, auto) {});
    ASSERT_TRUE(exported.has_error());
    EXPECT_NE(exported.error().detail.find("model.bottleneck"), std::string::npos);
    EXPECT_FALSE(fs::exists(scratch.path() / "folder"));

    run.model.bottleneck = 7;
    const auto other = open_run_checkpoint(write(scratch.path() / "narrower", run));
    EXPECT_NE(*identity_of(*model), *identity_of(*other));
}

TEST_F(RunCheckpointTest, CheckpointsOfTheSameWeightsAreOneModel) {
    const auto one = open_run_checkpoint(write(scratch.path() / "1", 1));
    const auto four = open_run_checkpoint(write(scratch.path() / "4", 4));
    EXPECT_EQ(*identity_of(*one), *identity_of(*four));
}

TEST_F(RunCheckpointTest, ARunsFolderOpensItsNewestWholeCheckpoint) {
    write(scratch.path(), 2, 20);
    const fs::path newer = write(scratch.path(), 2, 40);
    ASSERT_TRUE(is_run_checkpoint(scratch.path()));
    EXPECT_EQ(open_model(scratch.path())->architecture().name, "small, step 40");
    damage(newer / "layers.2.safetensors");
    EXPECT_EQ(open_model(scratch.path())->architecture().name, "small, step 20");
    const auto damaged = open_model(newer);
    ASSERT_TRUE(damaged.has_error());
    EXPECT_EQ(damaged.error().code, ErrorCode::Malformed);
    EXPECT_NE(damaged.error().detail.find("layers.2.safetensors: damaged"), std::string::npos)
        << damaged.error().detail;
}

TEST_F(RunCheckpointTest, DoesNotReadTheOptimizersFiles) {
    const fs::path folder = write(scratch.path(), 2);
    fs::remove(folder / "layers.1.adam.safetensors");
    EXPECT_TRUE(open_run_checkpoint(folder).has_value());
    fs::remove(folder / "layers.1.safetensors");
    EXPECT_EQ(open_run_checkpoint(folder).error().code, ErrorCode::NotFound);
}

TEST_F(RunCheckpointTest, HasTheTokenizerOfItsRun) {
    EXPECT_EQ(*read_run_tokenizer(write(scratch.path() / "bytes", 1)), "");
    const std::string tokenizer = "any bytes";
    swarm::run::RunConfig run = run_of(1);
    run.tokenizer = "spm:300";
    swarm::run::follow_tokenizer(run);
    run.tokenizer_sha256 = swarm::to_hex(swarm::sha256(std::as_bytes(std::span(tokenizer))));
    StageState state = StageState::from_seed(run, swarm::run::partition(run).front());
    const StageState* const view = &state;
    std::vector<fs::path> folders;
    for (const std::uint64_t step : {20U, 40U}) {
        state.set_version({0, step});
        const auto written = stages::write_checkpoint(scratch.path(), run, {&view, 1}, tokenizer);
        ASSERT_TRUE(written.has_value()) << written.error().detail;
        folders.push_back(*written);
    }
    EXPECT_TRUE(open_run_checkpoint(scratch.path()).has_value());
    EXPECT_TRUE(stages::read_checkpoint(folders[1]).has_value());
    EXPECT_EQ(*read_run_tokenizer(folders[1]), tokenizer);

    damage(folders[1] / "tokenizer.model");
    EXPECT_EQ(read_run_tokenizer(folders[1]).error().code, ErrorCode::Malformed);
    EXPECT_EQ(open_run_checkpoint(folders[1]).error().code, ErrorCode::Malformed);
    EXPECT_EQ(stages::read_checkpoint(folders[1]).error().code, ErrorCode::Malformed);
    EXPECT_EQ(*read_run_tokenizer(scratch.path()), tokenizer) << "the older one is whole";
    fs::remove(folders[0] / "tokenizer.model");
    EXPECT_TRUE(read_run_tokenizer(scratch.path()).has_error());
}

TEST_F(RunCheckpointTest, ACheckpointOfTheOracleModelIsRefused) {
    swarm::run::RunConfig run;
    run.stages = 1;
    run.model.kind = swarm::run::ModelKind::Oracle;
    const auto state = StageState::from_seed(run, swarm::run::partition(run).front());
    const StageState* const view = &state;
    const auto written = stages::write_checkpoint(scratch.path(), run, std::span(&view, 1));
    const auto model = open_run_checkpoint(*written);
    ASSERT_TRUE(model.has_error());
    EXPECT_EQ(model.error().code, ErrorCode::Unsupported);
}

TEST_F(RunCheckpointTest, ARunWithoutACheckpointSaysHowToGetOne) {
    std::ofstream(scratch.path() / "run.toml") << "[run]\n";
    const auto model = open_model(scratch.path());
    ASSERT_TRUE(model.has_error());
    EXPECT_EQ(model.error().code, ErrorCode::NotFound);
    EXPECT_NE(model.error().detail.find("has no checkpoint yet"), std::string::npos);
    EXPECT_NE(model.error().detail.find("checkpoint_every"), std::string::npos);
    write(scratch.path(), 2);
    EXPECT_TRUE(open_model(scratch.path()).has_value());
}

TEST_F(RunCheckpointTest, ABadManifestIsRefused) {
    const fs::path folder = write(scratch.path(), 2);
    std::ofstream(folder / "manifest.json") << "{}";
    EXPECT_EQ(open_run_checkpoint(folder).error().code, ErrorCode::Malformed);
    EXPECT_FALSE(is_run_checkpoint(scratch.path() / "nothing"));
}

}  // namespace
}  // namespace stacking::models

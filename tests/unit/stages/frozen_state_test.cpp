// The state of a stage of which a part is frozen: it is hashed, sent and written as a whole, and
// only the trained part changes.
#include "stages/files/checkpoint.hpp"
#include "stages/worker/stage_state.hpp"
#include "swarm/run/training/trained_part.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace stages {
namespace {

using swarm::run::RunConfig;
using swarm::run::StageLayout;

/// Two stages of one layer; in the first one only two vectors are trained.
RunConfig frozen_config() {
    RunConfig config;
    config.stages = 2;
    config.model.layers = 2;
    config.model.width = 16;
    config.model.heads = 2;
    config.model.kv_heads = 2;
    config.model.ffn_width = 24;
    config.model.context = 8;
    config.train.freeze = {"embed", "attn", "mlp"};
    return config;
}

/// Small chunks, so that the border between both parts lies within one.
StageLayout layout_of(const RunConfig& config, std::uint32_t stage) {
    StageLayout layout = partition(config)[stage];
    layout.chunk_bytes_max = 1000;
    return layout;
}

std::vector<swarm::node::Payload> chunks_of(const StageState& state) {
    std::vector<swarm::node::Payload> chunks;
    for (std::uint32_t i = 0; i < state.chunk_count(); ++i) {
        chunks.push_back(state.chunk(i));
    }
    return chunks;
}

TEST(FrozenState, TravelsAsAWhole) {
    const RunConfig config = frozen_config();
    for (const std::uint32_t stage : {0U, 1U}) {
        const StageLayout layout = layout_of(config, stage);
        const StageState state = StageState::from_seed(config, layout);
        EXPECT_EQ(state.frozen().size(), layout.frozen_elements());
        EXPECT_EQ(state.bytes(), layout.state_bytes());
        const auto chunks = chunks_of(state);
        const auto again = StageState::from_chunks(layout, {0, 0}, chunks);
        ASSERT_TRUE(again.has_value()) << again.error().detail;
        EXPECT_TRUE(std::ranges::equal(again->weights(), state.weights()));
        EXPECT_TRUE(std::ranges::equal(again->frozen(), state.frozen()));
        EXPECT_EQ(again->hash(), state.hash());
        ASSERT_EQ(state.manifest().size(), chunks.size());
        for (std::size_t i = 0; i < chunks.size(); ++i) {
            EXPECT_EQ(state.manifest()[i], swarm::sha256(chunks[i].bytes())) << i;
        }
    }
}

TEST(FrozenState, AStepChangesOnlyTheTrainedPart) {
    const RunConfig config = frozen_config();
    const StageLayout layout = layout_of(config, 1);
    StageState state = StageState::from_seed(config, layout);
    const StageState before = state;
    const auto first = before.manifest();
    state.apply(
        config.optimizer,
        {.clip_factor = 1, .learning_rate = 0.1, .bias_correction1 = 1, .bias_correction2 = 1},
        std::vector<float>(layout.elements(), 1.0F)
    );
    EXPECT_FALSE(std::ranges::equal(state.weights(), before.weights()));
    EXPECT_EQ(state.frozen().data(), before.frozen().data()) << "copies share it";
    const auto second = state.manifest();
    const std::size_t constant = (12 * layout.elements() + 999) / 1000;
    ASSERT_LT(constant, second.size());
    EXPECT_NE(second.front(), first.front());
    EXPECT_TRUE(std::equal(
        second.begin() + static_cast<std::ptrdiff_t>(constant),
        second.end(),
        first.begin() + static_cast<std::ptrdiff_t>(constant)
    ));
    const auto chunks = chunks_of(state);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        EXPECT_EQ(second[i], swarm::sha256(chunks[i].bytes())) << i;
    }
}

TEST(FrozenState, RefusesChunksOfAnotherSplit) {
    RunConfig config = frozen_config();
    const StageLayout layout = layout_of(config, 0);
    const auto chunks = chunks_of(StageState::from_seed(config, layout));
    config.train.freeze.clear();
    EXPECT_TRUE(StageState::from_chunks(layout_of(config, 0), {0, 0}, chunks).has_error());
}

TEST(FrozenState, ACheckpointHasAllWeightsAndTheMomentsOfTheTrained) {
    const test::ScratchFolder scratch;
    const RunConfig config = frozen_config();
    std::vector<StageState> states;
    for (const StageLayout& layout : partition(config)) {
        states.push_back(StageState::from_seed(config, layout));
        states.back().set_version({0, 3});
    }
    const StageState* const both[] = {&states[0], &states[1]};
    const auto folder = write_checkpoint(scratch.path(), config, both);
    ASSERT_TRUE(folder.has_value()) << folder.error().detail;
    EXPECT_FALSE(std::filesystem::exists(*folder / "embed.adam.safetensors"));
    EXPECT_TRUE(std::filesystem::exists(*folder / "layers.0.adam.safetensors"));
    const auto checkpoint = read_checkpoint(*folder);
    ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().detail;
    const auto again = restore_stages(*checkpoint, partition(config));
    ASSERT_TRUE(again.has_value()) << again.error().detail;
    for (std::size_t s = 0; s < states.size(); ++s) {
        EXPECT_EQ((*again)[s].hash(), states[s].hash());
    }
    const SafetensorsCheckpoint format(config);
    swarm::run::RunState fetched{{0, 3}, {}};
    for (const StageState& state : states) {
        fetched.chunks.push_back(chunks_of(state));
    }
    const auto late = format.make_files(std::move(fetched));
    ASSERT_TRUE(late.has_value()) << late.error().detail;
    for (const auto& file : late->files) {
        std::ifstream in(scratch.path() / file.name, std::ios::binary);
        const std::string bytes(std::istreambuf_iterator<char>(in), {});
        const auto content = file.content();
        EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(bytes)), content.bytes()))
            << file.name;
    }
}

TEST(FrozenState, AnAdapterBeginsAsNothing) {
    RunConfig config = frozen_config();
    config.train.freeze.clear();
    config.lora.rank = 2;
    const StageLayout layout = layout_of(config, 1);
    const StageState state = StageState::from_seed(config, layout);
    for (const auto& tensor : all_tensors(layout)) {
        if (!tensor.frozen) {
            const auto values = state.weights().subspan(tensor.begin, tensor.spec->elements());
            const bool second = tensor.spec->name.ends_with(swarm::run::kAdapterOut);
            const bool zeros = std::ranges::all_of(values, [](float value) { return value == 0; });
            EXPECT_EQ(zeros, second) << tensor.spec->name;
        }
    }
}

}  // namespace
}  // namespace stages

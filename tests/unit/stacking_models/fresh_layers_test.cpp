// Models with the ends of a seed around layers that are drawn: what is the seed's, what is new, and
// that a run of the same shape and number would begin with the same layers.
#include "stacking/models/averages/fresh_layers.hpp"

#include "stacking/models/hf_folder.hpp"
#include "stacking/models/run_checkpoint.hpp"
#include "stacking/models/training/shared_layers.hpp"
#include "stages/files/checkpoint.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

namespace stacking::models {
namespace {

using stages::StageState;
using swarm::run::ModelKind;

constexpr float kTrained = 0.25F;  // added to every weight of the seed, like a training

swarm::run::RunConfig run_of(ModelKind kind, bool tied, std::uint64_t seed) {
    swarm::run::RunConfig run;
    run.name = "seed";
    run.seed = seed;
    run.stages = 1;
    run.model.kind = kind;
    run.model.layers = 3;
    run.model.width = 16;
    run.model.heads = 2;
    run.model.kv_heads = 1;
    run.model.ffn_width = 24;
    run.model.context = 12;
    run.model.tied_embeddings = tied;
    return run;
}

StageState state_of(const swarm::run::RunConfig& run) {
    return StageState::from_seed(run, swarm::run::partition(run).front());
}

class FreshLayersTest : public testing::TestWithParam<std::pair<ModelKind, bool>> {
 protected:
    void SetUp() override {
        const auto [kind, tied] = GetParam();
        const swarm::run::RunConfig run = run_of(kind, tied, 1);
        StageState state = state_of(run);
        std::vector<float> weights(state.weights().begin(), state.weights().end());
        std::ranges::for_each(weights, [](float& weight) { weight += kTrained; });
        state.set_weights(weights);
        const StageState* const view = &state;
        const auto written = stages::write_checkpoint(scratch_.path(), run, std::span(&view, 1));
        ASSERT_TRUE(written.has_value()) << written.error().detail;
        auto model = open_run_checkpoint(*written);
        ASSERT_TRUE(model.has_value()) << model.error().detail;
        seed_ = std::make_shared<const ModelSource>(std::move(*model));
    }

    [[nodiscard]] ModelSource fresh(std::uint64_t number) const {
        auto model = with_fresh_layers(seed_, number);
        EXPECT_TRUE(model.has_value()) << model.error().detail;
        return std::move(*model);
    }

    stages::test::ScratchFolder scratch_;
    std::shared_ptr<const ModelSource> seed_;
};

TEST_P(FreshLayersTest, HaveTheSeedsEndsAndTheLayersOfANewRun) {
    const ModelSource model = fresh(9);
    const auto [kind, tied] = GetParam();
    const StageState begun = state_of(run_of(kind, tied, 9));
    std::span<const float> left = begun.weights();
    std::size_t layers = 0;
    for (const auto& tensor : begun.layout().tensors) {
        const auto begins = left.first(tensor.elements());
        left = left.subspan(tensor.elements());
        const std::vector<float> found = *model.read(tensor.name);
        if (layer_of_tensor(tensor.name)) {
            EXPECT_TRUE(std::ranges::equal(found, begins)) << tensor.name;
            EXPECT_NE(found, *seed_->read(tensor.name)) << tensor.name;
            ++layers;
        } else {
            EXPECT_EQ(found, *seed_->read(tensor.name)) << tensor.name;
            EXPECT_FALSE(std::ranges::equal(found, begins)) << tensor.name;
        }
    }
    EXPECT_GE(layers, 3U * 9U);
    EXPECT_EQ(model.architecture().tied_embeddings, tied);
}

TEST_P(FreshLayersTest, FollowFromTheirNumber) {
    const ModelSource one = fresh(9);
    const ModelSource again = fresh(9);
    const ModelSource other = fresh(10);
    for (const auto& [name, tensor] : one.tensors()) {
        EXPECT_EQ(*one.read(name), *again.read(name)) << name;
        const bool is_drawn = layer_of_tensor(name) && tensor.shape.size() > 1;
        EXPECT_EQ(*one.read(name) == *other.read(name), !is_drawn) << name;
    }
}

TEST_P(FreshLayersTest, AnyRowsAreThoseOfTheWhole) {
    const ModelSource model = fresh(9);
    for (const char* const name : {"layers.2.mlp.w1", "embed.weight", "layers.0.mlp.w1"}) {
        const std::vector<float> whole = *model.read(name);
        std::vector<float> rows(3 * 16);
        ASSERT_TRUE(model.read_rows(name, {13, 3}, rows).has_value());
        EXPECT_TRUE(std::ranges::equal(rows, std::span(whole).subspan(13 * 16, rows.size())));
    }
    std::vector<float> none(16);
    EXPECT_TRUE(model.read_rows("layers.2.mlp.w1", {24, 1}, none).has_error());
    EXPECT_TRUE(model.read_rows("layers.3.mlp.w1", {0, 1}, none).has_error());
}

TEST_P(FreshLayersTest, AreWrittenAsAFolderThatHoldsTheSame) {
    const ModelSource model = fresh(9);
    const auto quiet = [](std::uint64_t /*written*/, std::uint64_t /*all*/) {};
    ASSERT_TRUE(write_hf_folder(model, scratch_.path() / "fresh", quiet).has_value());
    const auto folder = open_hf_folder(scratch_.path() / "fresh");
    ASSERT_TRUE(folder.has_value()) << folder.error().detail;
    for (const auto& [name, tensor] : model.tensors()) {
        EXPECT_EQ(*folder->read(name), *model.read(name)) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds,
    FreshLayersTest,
    testing::Values(
        std::pair(ModelKind::Llama, false),
        std::pair(ModelKind::Llama, true),
        std::pair(ModelKind::Qwen2, true)
    )
);

}  // namespace
}  // namespace stacking::models

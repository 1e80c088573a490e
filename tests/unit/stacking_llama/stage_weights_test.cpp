#include "stacking/llama/stage_weights.hpp"

#include "swarm/net/device/worker_pool.hpp"
#include "tests/unit/stacking_llama/random_llama.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace stacking::llama {
namespace {

using kernels::WeightFormat;
using test::Head;

std::shared_ptr<const StageWeights> load(
    const models::ModelSource& model, std::uint32_t stages, std::size_t stage
) {
    const auto layouts = split(model.architecture(), stages);
    return *load_stage(model, layouts[stage], WeightFormat::Fp32);
}

std::vector<float> row_of(const kernels::JoinedMatrix& matrix, std::size_t output) {
    std::vector<float> row(matrix.inputs());
    matrix.read_row(output, row);
    return row;
}

TEST(StageWeights, AStageHasItsLayersAndTheMatricesOfItsEnds) {
    const auto model = test::random_llama(Head::Own);
    const auto below = load(model, 2, 0);
    const auto above = load(model, 2, 1);
    EXPECT_EQ(below->layers.size() + above->layers.size(), test::kLayers);
    EXPECT_TRUE(below->embedding != nullptr && below->head == nullptr);
    EXPECT_TRUE(above->embedding == nullptr && above->head != nullptr);
    const auto whole = load(model, 1, 0);
    const auto& layer = whole->layers[below->layers.size()];
    EXPECT_EQ(
        row_of(above->layers[0].experts.front().down, 3), row_of(layer.experts.front().down, 3)
    );
}

TEST(StageWeights, MatricesWithTheSameInputAreJoined) {
    const auto model = test::random_llama(Head::Own);
    const auto stage = load(model, 1, 0);
    const auto keys = *model.read("layers.2.attn.wk");
    const auto up = *model.read("layers.2.mlp.w3");
    const auto& layer = stage->layers[2];
    ASSERT_EQ(layer.query_key_value.outputs(), 72U + 24 + 24);
    EXPECT_TRUE(std::ranges::equal(row_of(layer.query_key_value, 72), std::span(keys).first(72)));
    EXPECT_TRUE(
        std::ranges::equal(row_of(layer.experts.front().gate_up, 100), std::span(up).first(72))
    );
}

TEST(StageWeights, ATiedModelKeepsOneMatrixForBothEnds) {
    EXPECT_EQ(load(test::random_llama(Head::Tied), 1, 0)->head.use_count(), 2);
    EXPECT_EQ(load(test::random_llama(Head::Own), 1, 0)->head.use_count(), 1);
    const auto above = load(test::random_llama(Head::Tied), 2, 1);
    const auto whole = load(test::random_llama(Head::Tied), 1, 0);
    EXPECT_EQ(row_of(*above->head, 5), row_of(*whole->embedding, 5));
}

TEST(StageWeights, NonFiniteWeightsAreAnError) {
    for (const char* const spoiled : {"blk.3.ffn_up.weight", "output_norm.weight"}) {
        const auto model = test::random_llama(Head::Tied, spoiled);
        const auto stage =
            load_stage(model, split(model.architecture(), 1).front(), WeightFormat::Int8);
        ASSERT_FALSE(stage.has_value()) << spoiled;
        EXPECT_EQ(stage.error().code, swarm::ErrorCode::NotFinite);
    }
}

bool has_bytes_of(const kernels::JoinedMatrix& one, const kernels::JoinedMatrix& other) {
    return std::ranges::equal(
        one.parts(),
        other.parts(),
        [](const kernels::PackedMatrix& left, const kernels::PackedMatrix& right) {
            return left.bytes() == right.bytes() &&
                   std::memcmp(left.view().panels, right.view().panels, left.bytes()) == 0;
        }
    );
}

TEST(StageWeights, ThreadsAndMapsChangeNoByte) {
    const stages::test::ScratchFolder folder;
    const auto model = test::random_llama(Head::Own);
    const auto mapped = test::open_file_of(folder.path() / "model.gguf");
    const auto layout = split(model.architecture(), 1).front();
    for (const WeightChoice choice :
         {WeightChoice::as_is(),
          WeightChoice(WeightFormat::Bf16),
          WeightChoice(WeightFormat::Int8)}) {
        const auto wanted = *load_stage(model, layout, choice);
        for (const std::size_t threads : {1U, 2U, 5U}) {
            swarm::net::WorkerPool pool(threads, 1);
            const auto given = *load_stage(mapped, layout, choice, Exits::None, {}, &pool);
            for (std::size_t i = 0; i < test::kLayers; ++i) {
                const LayerWeights& left = wanted->layers[i];
                const LayerWeights& right = given->layers[i];
                EXPECT_TRUE(has_bytes_of(left.query_key_value, right.query_key_value)) << i;
                EXPECT_TRUE(has_bytes_of(left.experts[0].gate_up, right.experts[0].gate_up)) << i;
                EXPECT_TRUE(has_bytes_of(left.experts[0].down, right.experts[0].down)) << i;
                EXPECT_EQ(left.ffn_norm, right.ffn_norm) << i;
            }
            EXPECT_TRUE(has_bytes_of(*wanted->embedding, *given->embedding));
            EXPECT_TRUE(has_bytes_of(*wanted->head, *given->head));
        }
    }
}

TEST(StageWeights, AFileThatShrinksWhileItIsReadIsAnError) {
    const stages::test::ScratchFolder folder;
    const auto path = folder.path() / "model.gguf";
    const auto layout = split(test::open_file_of(path).architecture(), 1).front();
    for (const WeightChoice choice : {WeightChoice::as_is(), WeightChoice(WeightFormat::Int8)}) {
        const auto model = test::open_file_of(path);
        std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
        swarm::net::WorkerPool pool(2, 1);
        const auto stage = load_stage(model, layout, choice, Exits::None, {}, &pool);
        ASSERT_FALSE(stage.has_value());
        EXPECT_EQ(stage.error().code, swarm::ErrorCode::StorageFailed) << stage.error().detail;
    }
}

}  // namespace
}  // namespace stacking::llama

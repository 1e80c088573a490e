#include "swarm/cli/model/model_summary.hpp"

#include "stacking/models/gguf_model.hpp"
#include "tests/unit/stacking_models/small_gguf.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

using stacking::models::MemoryBytes;

// Embedding 6 x 8; a layer 8 + 64 + 32 + 32 + 64 + 8 + 3 x 96 = 496; norm 8.
constexpr std::uint64_t kEmbedding = 48;
constexpr std::uint64_t kLayer = 496;

ModelSummary small_summary(std::uint32_t stages) {
    const auto model = stacking::models::open_gguf(
        std::make_unique<MemoryBytes>(stacking::models::test::small_gguf().bytes())
    );
    EXPECT_TRUE(model.has_value());
    return summarise(*model, stages);
}

TEST(ModelSummary, CountsATiedHeadOnceAndAtItsStage) {
    const ModelSummary summary = small_summary(2);
    EXPECT_EQ(summary.parameters, kEmbedding + 2 * kLayer + 8);
    EXPECT_EQ(summary.file_bytes, 4 * summary.parameters);
    EXPECT_EQ(summary.tensors.at("F32"), 20U);
    ASSERT_EQ(summary.stages.size(), 2U);
    EXPECT_EQ(summary.stages[0].parameters, kEmbedding + kLayer);
    EXPECT_EQ(summary.stages[1].parameters, kLayer + 8 + kEmbedding);
    EXPECT_EQ(summary.stages[1].first_layer, 1U);
    EXPECT_EQ(summary.stages[1].file_bytes, 4 * summary.stages[1].parameters);
}

TEST(ModelSummary, TextHasALinePerStage) {
    const std::string text = to_text(small_summary(2));
    EXPECT_NE(text.find("small\n  llama: 2 layers, width 8, 2 heads"), std::string::npos) << text;
    EXPECT_NE(text.find("rope base 100000, norm epsilon 1e-05, tied"), std::string::npos) << text;
    EXPECT_NE(text.find("1,048 parameters, tensors F32 x 20"), std::string::npos) << text;
    EXPECT_NE(text.find("\n    0        0            544"), std::string::npos) << text;
}

TEST(ModelSummary, JsonHasTheSameFigures) {
    const ModelSummary summary = small_summary(1);
    const boost::json::value json = boost::json::parse(to_json(summary));
    EXPECT_EQ(json.at("parameters").as_int64(), 1048);
    EXPECT_EQ(json.at("rope_base").to_number<double>(), 100000.0);
    const auto& stage = json.at("stages").as_array().at(0);
    EXPECT_EQ(stage.at("layers").as_int64(), 2);
    EXPECT_EQ(stage.at("fp32_bytes").as_int64(), 4 * (1048 + 48));
    // Panels of 64 outputs: the embedding is one, the layers have 18 of 8 or 12 inputs and norms.
    EXPECT_GT(stage.at("kept_bytes").as_int64(), 4 * 1048);
}

}  // namespace
}  // namespace swarm::cli

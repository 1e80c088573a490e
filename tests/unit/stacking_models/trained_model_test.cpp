// Which models are trained here, and that the table [model] of a run says all of such a model.
#include "stacking/models/training/trained_model.hpp"

#include <gtest/gtest.h>

namespace stacking::models {
namespace {

using swarm::ErrorCode;
using swarm::run::ModelKind;

Architecture small(std::string_view family) {
    Architecture architecture;
    architecture.traits.family = family;
    architecture.model.layers = 2;
    architecture.model.width = 64;
    architecture.model.heads = 4;
    architecture.model.kv_heads = 2;
    architecture.model.context = 4096;
    return architecture;
}

void expect_same_again(const Architecture& architecture) {
    const auto model = as_trained(architecture);
    ASSERT_TRUE(model.has_value()) << model.error().detail;
    const Architecture again = as_served(*model);
    EXPECT_EQ(again.traits, architecture.traits);
    EXPECT_EQ(again.tied_embeddings, architecture.tied_embeddings);
    EXPECT_EQ(again.begin_token, architecture.begin_token);
    EXPECT_EQ(again.end_tokens, architecture.end_tokens);
    EXPECT_EQ(again.model.context, architecture.model.context);
    EXPECT_EQ(tensors_of(again), tensors_of(architecture));
}

std::string refusal(const Architecture& architecture) {
    const auto model = as_trained(architecture);
    if (model) {
        return "";
    }
    EXPECT_EQ(model.error().code, ErrorCode::Unsupported);
    return model.error().detail;
}

TEST(TrainedModel, IsTheSameModelWhenItIsServed) {
    Architecture llama = small("llama");
    llama.tied_embeddings = true;
    llama.begin_token = 1;
    llama.end_tokens = {2, 7};
    expect_same_again(llama);
    llama.traits.rope = {.kind = RopeScaling::Kind::Linear, .factor = 4};
    expect_same_again(llama);
    llama.traits.rope = {
        .kind = RopeScaling::Kind::Llama3,
        .factor = 32,
        .low_frequency_factor = 2,
        .high_frequency_factor = 8,
        .original_context = 8192};
    expect_same_again(llama);
    expect_same_again(small("mistral"));
    Architecture qwen2 = small("qwen2");
    qwen2.traits.query_key_value_bias = true;
    expect_same_again(qwen2);
    Architecture qwen3 = small("qwen3");
    qwen3.traits.query_key_norm = QueryKeyNorm::Heads;
    qwen3.traits.head_width = 48;
    expect_same_again(qwen3);
}

TEST(TrainedModel, HasTheTensorsOfItsRun) {
    Architecture qwen3 = small("qwen3");
    qwen3.traits.query_key_norm = QueryKeyNorm::Heads;
    qwen3.traits.head_width = 48;
    Architecture qwen2 = small("qwen2");
    qwen2.traits.query_key_value_bias = true;
    for (const Architecture& architecture : {small("llama"), qwen2, qwen3}) {
        swarm::run::RunConfig config;
        config.stages = 1;
        config.model = *as_trained(architecture);
        EXPECT_EQ(swarm::run::partition(config).front().tensors, tensors_of(architecture));
    }
}

TEST(TrainedModel, ReadsNoFurtherThanItsWindows) {
    Architecture mistral = small("mistral");
    mistral.traits.layers = {{.window = 256}, {.window = 512}};
    const auto model = as_trained(mistral);
    ASSERT_TRUE(model.has_value()) << model.error().detail;
    EXPECT_EQ(model->context, 256U);
    EXPECT_EQ(as_served(*model).model.context, 256U);
}

TEST(TrainedModel, NamesTheFamilyOrTheTraitThatIsMissing) {
    EXPECT_NE(refusal(small("gemma2")).find("family gemma2 cannot be trained"), std::string::npos);
    EXPECT_NE(refusal(small("oracle")).find("family oracle"), std::string::npos);

    struct Row {
        void (*spoil)(Traits&);
        const char* trait;
    };

    const Row rows[] = {
        {[](Traits& t) { t.experts.count = 4; }, "experts"},
        {[](Traits& t) { t.query_key_value_bias = true; }, "biases of queries"},
        {[](Traits& t) { t.attention_out_bias = true; }, "bias of the attention's output"},
        {[](Traits& t) { t.query_key_norm = QueryKeyNorm::Rows; }, "norms of queries"},
        {[](Traits& t) { t.norms = NormPlace::Around; }, "norms after"},
        {[](Traits& t) { t.activation = Activation::GeluTanh; }, "activation"},
        {[](Traits& t) { t.rotary_width = 8; }, "partly rotated"},
        {[](Traits& t) { t.rope.kind = RopeScaling::Kind::Yarn; }, "scaling of rotary"},
        {[](Traits& t) {
             t.layers = {{.rope = RopeUse::None}, {}};
         },
         "without rotary"},
        {[](Traits& t) { t.attention_scale = 0.5; }, "attention scale"},
        {[](Traits& t) { t.logit_soft_cap = 30; }, "soft caps"},
        {[](Traits& t) { t.residual_scale = 0.5; }, "scales of"},
    };
    for (const Row& row : rows) {
        Architecture llama = small("llama");
        row.spoil(llama.traits);
        EXPECT_NE(refusal(llama).find(row.trait), std::string::npos) << row.trait;
    }
    EXPECT_NE(refusal(small("qwen2")).find("biases"), std::string::npos) << "it must have them";
}

}  // namespace
}  // namespace stacking::models

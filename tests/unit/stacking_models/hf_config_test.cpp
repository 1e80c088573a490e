#include "stacking/models/hf_config.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace stacking::models {
namespace {

using swarm::ErrorCode;

/// `more`: further members, each with a comma before it.
std::string config(const std::string& more, std::uint32_t layers = 2) {
    return R"({"model_type": "llama", "hidden_size": 8, "intermediate_size": 12,
        "num_hidden_layers": )" +
           std::to_string(layers) + R"(, "num_attention_heads": 2, "num_key_value_heads": 1,
        "vocab_size": 6, "max_position_embeddings": 64, "rms_norm_eps": 1e-05)" +
           more + "}";
}

Architecture read(const std::string& more) {
    const auto found = parse_hf_config(config(more), "test");
    EXPECT_TRUE(found.has_value()) << more << ": " << found.error().detail;
    return found.has_value() ? *found : Architecture{};
}

void expect_refused(const std::string& text, ErrorCode code, const std::string& why) {
    const auto found = parse_hf_config(text, "test");
    ASSERT_TRUE(found.has_error()) << text;
    EXPECT_EQ(found.error().code, code) << found.error().detail;
    EXPECT_NE(found.error().detail.find(why), std::string::npos) << found.error().detail;
}

TEST(HfConfig, ReadsVersion4) {
    const Architecture found = read(
        R"(, "rope_theta": 100000.0, "rope_scaling": null, "torch_dtype": "bfloat16",
            "tie_word_embeddings": true, "bos_token_id": 1, "eos_token_id": 2)"
    );
    EXPECT_EQ(found.model.rope_base, 100000.0);
    EXPECT_EQ(found.model.layers, 2U);
    EXPECT_EQ(found.model.kv_heads, 1U);
    EXPECT_EQ(found.model.norm_epsilon, 1e-5);
    EXPECT_TRUE(found.tied_embeddings);
    EXPECT_EQ(found.begin_token, 1U);
    EXPECT_EQ(found.end_tokens, std::vector<std::uint32_t>{2});
}

TEST(HfConfig, ReadsVersion5) {
    const Architecture found = read(
        R"(, "rope_parameters": {"rope_theta": 100000.0, "rope_type": "default"},
            "dtype": "float32", "head_dim": 4, "eos_token_id": [2, 5])"
    );
    EXPECT_EQ(found.model.rope_base, 100000.0);
    EXPECT_FALSE(found.tied_embeddings);
    EXPECT_EQ(found.begin_token, 1U);  // that of the family
    EXPECT_EQ(found.end_tokens, (std::vector<std::uint32_t>{2, 5}));
}

TEST(HfConfig, AMissingRopeBaseIsThatOfTheFirstLlama) {
    EXPECT_EQ(read("").model.rope_base, 10000.0);
}

TEST(HfConfig, TwoRopeBasesMustAgree) {
    EXPECT_EQ(
        read(R"(, "rope_theta": 5e5, "rope_parameters": {"rope_theta": 500000})").model.rope_base,
        5e5
    );
    expect_refused(
        config(R"(, "rope_theta": 10000, "rope_parameters": {"rope_theta": 100000})"),
        ErrorCode::Malformed,
        "two different values of rope_theta"
    );
}

TEST(HfConfig, RefusesVariantsThatWouldChangeTheAnswer) {
    for (const char* const more :
         {R"(, "rope_scaling": {"rope_type": "dynamic", "factor": 8})",
          R"(, "rope_scaling": {"type": "mrope"})",
          R"(, "hidden_act": "gelu")",
          R"(, "mlp_bias": true)",
          R"(, "quantization_config": {"quant_method": "gptq"})"}) {
        expect_refused(config(more), ErrorCode::Unsupported, "can be read");
    }
    expect_refused(
        R"({"model_type": "gpt2"})",
        ErrorCode::Unsupported,
        "\"gpt2\"; these can be read: llama, mistral, mixtral"
    );
}

/// The configuration of another family with the same numbers.
std::string config_of(
    const std::string& family, const std::string& more, std::uint32_t layers = 2
) {
    std::string text = config(more, layers);
    const std::string llama = "\"llama\"";
    return text.replace(text.find(llama), llama.size(), '"' + family + '"');
}

/// A change of the configuration is refused by check(), which every reader calls.
void expect_unfit(const std::string& more, const std::string& why) {
    const auto found = parse_hf_config(config(more), "test");
    ASSERT_TRUE(found.has_value()) << found.error().detail;
    const auto checked = check(*found);
    ASSERT_TRUE(checked.has_error()) << more;
    EXPECT_NE(checked.error().detail.find(why), std::string::npos) << checked.error().detail;
}

TEST(HfConfig, RefusesRotationsThatDoNotFit) {
    const std::string scaling = "the numbers of the rope scaling do not fit";
    expect_unfit(R"(, "rope_scaling": {"rope_type": "llama3", "factor": 8})", scaling);
    expect_unfit(R"(, "rope_scaling": {"type": "linear", "factor": 0})", scaling);
    expect_unfit(
        R"(, "rope_scaling": {"type": "yarn", "factor": 2, "original_max_position_embeddings": 0})",
        scaling
    );
    expect_unfit(R"(, "rope_theta": 1, "rope_scaling": {"type": "yarn", "factor": 2})", scaling);
    expect_unfit(R"(, "rope_scaling": {"type": "linear", "factor": 1e300})", scaling);
    expect_unfit(R"(, "rope_scaling": {"type": "longrope", "short_factor": [1, 2, 3]})", scaling);
    expect_refused(
        config(R"(, "rope_scaling": {"type": "longrope", "short_factor": 7})"),
        ErrorCode::Malformed,
        "config.json: short_factor is no list"
    );
    expect_refused(
        config(R"(, "partial_rotary_factor": 2)"), ErrorCode::Malformed, "between 0 and 1"
    );
    expect_refused(
        config(R"(, "rope_parameters": {"full_attention": 1})"),
        ErrorCode::Malformed,
        "rope parameters are no object"
    );
}

TEST(HfConfig, RefusesMoreTensorsThanAModelMayHave) {
    const std::string text =
        config_of("mixtral", R"(, "num_local_experts": 1000, "num_experts_per_tok": 2)", 100);
    const auto found = parse_hf_config(text, "test");
    ASSERT_TRUE(found.has_value()) << found.error().detail;
    EXPECT_NE(check(*found).error().detail.find("100 layers of 1000 experts"), std::string::npos);
}

TEST(HfConfig, OfLongRopeTheShortFactorsAreRead) {
    const Architecture found = read(
        R"(, "original_max_position_embeddings": 16, "rope_scaling":
           {"type": "longrope", "short_factor": [1, 2], "long_factor": [3, 4], "factor": 4})"
    );
    EXPECT_EQ(found.model.context, 16U);
    EXPECT_EQ(found.traits.rope.divisors, (std::vector<float>{1, 2}));
    EXPECT_NEAR(found.traits.rope.magnitude, std::sqrt(1.5), 1e-12);
}

TEST(HfConfig, RefusesTraitsOfFamiliesByName) {
    struct Case {
        const char* family;
        const char* more;
        const char* why;
    };

    for (const Case& one :
         {Case{"olmoe", R"(, "num_experts": 4, "num_experts_per_tok": 2, "clip_qkv": 8)", "clip"},
          Case{
              "qwen3_moe",
              R"(, "num_experts": 4, "num_experts_per_tok": 2,
                 "decoder_sparse_step": 2)",
              "decoder_sparse_step is 2"},
          Case{
              "qwen2_moe",
              R"(, "num_experts": 4, "num_experts_per_tok": 2,
                 "shared_expert_intermediate_size": 8, "mlp_only_layers": [1])",
              "mlp_only_layers"},
          Case{"smollm3", R"(, "use_sliding_window": true)", "use_sliding_window is true"},
          Case{"gemma2", R"(, "layer_types": ["full_attention", "spiral"])", "layer_types"},
          Case{"gemma2", R"(, "hidden_activation": "relu")", "hidden_activation is \"relu\""}}) {
        expect_refused(config_of(one.family, one.more), ErrorCode::Unsupported, one.why);
    }
    expect_refused(
        config_of("smollm3", R"(, "no_rope_layers": [1])"), ErrorCode::Malformed, "no_rope_layers"
    );
    expect_refused(
        config_of("mixtral", R"(, "num_local_experts": 0, "num_experts_per_tok": 0)"),
        ErrorCode::Malformed,
        "num_local_experts is 0"
    );
}

TEST(HfConfig, RefusesOtherText) {
    for (const char* const text : {"", "[]", "7", "{\"model_type\": ", "{}"}) {
        expect_refused(text, ErrorCode::Malformed, "config.json");
    }
    expect_refused(R"({"model_type": "llama"})", ErrorCode::Malformed, "is missing");
    expect_refused(
        config(R"(, "rope_theta": "large")"), ErrorCode::Malformed, "rope_theta is \"large\""
    );
    expect_refused(config(R"(, "eos_token_id": -1)"), ErrorCode::Malformed, "eos_token_id is -1");
    expect_refused(config(R"(, "tie_word_embeddings": 1)"), ErrorCode::Malformed, "no boolean");
    expect_refused(config(R"(, "vocab_size": 7)"), ErrorCode::Malformed, "twice");
}

TEST(HfConfig, ReadsBackItsOwnTextInBothVersions) {
    Architecture written = read(R"(, "rope_theta": 100000.0, "tie_word_embeddings": true)");
    written.end_tokens = {2, 3};
    written.model.norm_epsilon = 9.999999747378752e-06;
    const auto found = parse_hf_config(make_hf_config(written), "test");
    ASSERT_TRUE(found.has_value()) << found.error().detail;
    EXPECT_EQ(found->model.rope_base, written.model.rope_base);
    EXPECT_EQ(
        static_cast<float>(found->model.norm_epsilon),
        static_cast<float>(written.model.norm_epsilon)
    );
    EXPECT_EQ(found->model.ffn_width, written.model.ffn_width);
    EXPECT_EQ(found->end_tokens, written.end_tokens);
    EXPECT_TRUE(found->tied_embeddings);
}

}  // namespace
}  // namespace stacking::models

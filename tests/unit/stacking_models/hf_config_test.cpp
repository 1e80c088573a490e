#include "stacking/models/hf_config.hpp"

#include <gtest/gtest.h>

namespace stacking::models {
namespace {

using swarm::ErrorCode;

/// `more`: further members, each with a comma before it.
std::string config(const std::string& more) {
    return R"({"model_type": "llama", "hidden_size": 8, "intermediate_size": 12,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
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
    EXPECT_FALSE(found.begin_token.has_value());
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
         {R"(, "rope_scaling": {"rope_type": "llama3", "factor": 8})",
          R"(, "rope_scaling": {"type": "linear", "factor": 2})",
          R"(, "rope_parameters": {"rope_type": "yarn", "rope_theta": 1e5})",
          R"(, "hidden_act": "gelu")",
          R"(, "attention_bias": true)",
          R"(, "mlp_bias": true)",
          R"(, "head_dim": 8)",
          R"(, "quantization_config": {"quant_method": "gptq"})"}) {
        expect_refused(config(more), ErrorCode::Unsupported, "can be read");
    }
    expect_refused(R"({"model_type": "gpt2"})", ErrorCode::Unsupported, "\"gpt2\"");
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

// Members that a config.json lacks, and members that transformers obeys in one family and not in
// another. The numbers are those of the configuration classes of transformers 5.24.
#include "stacking/models/families/family.hpp"
#include "stacking/models/hf_config.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace stacking::models {
namespace {

using swarm::ErrorCode;
using Kind = RopeScaling::Kind;

constexpr const char* kExperts = R"(, "num_experts": 4, "num_local_experts": 4,
    "num_experts_per_tok": 2, "shared_expert_intermediate_size": 8)";

/// Only what has no default anywhere; `more`: further members, each with a comma before it.
std::string config(const std::string& family, const std::string& more = "") {
    return R"({"model_type": ")" + family + R"(", "hidden_size": 64, "intermediate_size": 12,
        "num_hidden_layers": 4, "num_attention_heads": 32, "vocab_size": 200000)" +
           kExperts + more + "}";
}

Architecture read(const std::string& family, const std::string& more = "") {
    const auto found = parse_hf_config(config(family, more), "test");
    EXPECT_TRUE(found.has_value()) << family << more << ": " << found.error().detail;
    return found.has_value() ? *found : Architecture{};
}

void expect_refused(const std::string& family, const std::string& more, const std::string& why) {
    const auto found = parse_hf_config(config(family, more), "test");
    ASSERT_TRUE(found.has_error()) << family << more;
    EXPECT_NE(found.error().detail.find(why), std::string::npos) << found.error().detail;
}

std::vector<std::uint32_t> windows_of(const Architecture& architecture) {
    std::vector<std::uint32_t> windows;
    for (std::uint32_t layer = 0; layer < architecture.model.layers; ++layer) {
        windows.push_back(architecture.attention_of(layer).window);
    }
    return windows;
}

using Windows = std::vector<std::uint32_t>;

TEST(HfDefaults, AGraniteWithoutAScaleIsWrittenWithTheUsualOne) {
    Architecture granite = read("granite");
    granite.traits.attention_scale = 0;
    const auto again = parse_hf_config(make_hf_config(granite), "test");
    ASSERT_TRUE(again.has_value()) << again.error().detail;
    EXPECT_DOUBLE_EQ(again->traits.attention_scale, 1 / std::sqrt(2.0));
}

TEST(HfDefaults, AreThoseOfTheFamily) {
    struct Row {
        const char* family;
        double rope_base;
        double epsilon;
        std::uint32_t head_width;
        std::uint32_t kv_heads;
        std::uint32_t context;
        std::uint32_t begin;  // 0: none
        std::uint32_t end;
        bool tied;
    };

    for (const Row& row :
         {Row{"llama", 1e4, 1e-6, 2, 32, 2048, 1, 2, false},
          Row{"mistral", 1e4, 1e-6, 2, 8, 131'072, 1, 2, false},
          Row{"mixtral", 1e6, 1e-5, 2, 8, 131'072, 1, 2, false},
          Row{"qwen2", 1e4, 1e-6, 2, 32, 32'768, 0, 0, false},
          Row{"qwen2_moe", 1e4, 1e-6, 2, 16, 32'768, 0, 0, false},
          Row{"qwen3", 1e4, 1e-6, 128, 32, 32'768, 0, 0, false},
          Row{"qwen3_moe", 1e4, 1e-6, 2, 4, 32'768, 0, 0, false},
          Row{"gemma", 1e4, 1e-6, 256, 16, 8192, 2, 1, true},
          Row{"gemma2", 1e4, 1e-6, 256, 4, 8192, 2, 1, true},
          Row{"gemma3_text", 1e6, 1e-6, 256, 4, 131'072, 2, 1, true},
          Row{"phi3", 1e4, 1e-5, 2, 32, 4096, 1, 32'000, false},
          Row{"olmo2", 1e4, 1e-5, 2, 32, 2048, 0, 50'279, false},
          Row{"olmoe", 1e4, 1e-5, 2, 32, 4096, 0, 50'279, false},
          Row{"smollm3", 2e6, 1e-6, 2, 4, 32'768, 128'000, 128'001, true},
          Row{"granite", 1e4, 1e-6, 2, 32, 2048, 1, 2, false}}) {
        SCOPED_TRACE(row.family);
        const Architecture found = read(row.family);
        EXPECT_EQ(found.model.rope_base, row.rope_base);
        EXPECT_EQ(found.model.norm_epsilon, row.epsilon);
        EXPECT_EQ(found.head_width(), row.head_width);
        EXPECT_EQ(found.model.kv_heads, row.kv_heads);
        EXPECT_EQ(found.model.context, row.context);
        EXPECT_EQ(found.begin_token.value_or(0), row.begin);
        EXPECT_EQ(found.end_tokens, row.end > 0 ? Windows{row.end} : Windows{});
        EXPECT_EQ(found.tied_embeddings, row.tied);
    }
    EXPECT_EQ(all_families().size(), 15U);
}

TEST(HfDefaults, ANullIsNoDefault) {
    const Architecture found = read(
        "mistral",
        R"(, "num_key_value_heads": null, "eos_token_id": null, "bos_token_id": null,
           "sliding_window": null)"
    );
    EXPECT_EQ(found.model.kv_heads, 32U);
    EXPECT_TRUE(found.end_tokens.empty());
    EXPECT_FALSE(found.begin_token.has_value());
    EXPECT_EQ(windows_of(found), Windows(4, 0));
    const Architecture gemma =
        read("gemma2", R"(, "attn_logit_softcapping": null, "final_logit_softcapping": null)");
    EXPECT_EQ(gemma.traits.attention_soft_cap, 0);
    EXPECT_EQ(gemma.traits.logit_soft_cap, 0);
    EXPECT_EQ(read("gemma2").traits.attention_soft_cap, 50);
    EXPECT_EQ(read("gemma2").traits.logit_soft_cap, 30);
    EXPECT_EQ(read("gemma3_text").traits.attention_soft_cap, 0);
}

TEST(HfWindows, AreThereWithoutAMemberInSomeFamilies) {
    EXPECT_EQ(windows_of(read("mistral")), Windows(4, 4096));
    EXPECT_EQ(windows_of(read("mixtral")), Windows(4, 0));
    EXPECT_EQ(windows_of(read("phi3")), Windows(4, 0));
    EXPECT_EQ(windows_of(read("gemma2")), (Windows{4096, 0, 4096, 0}));
    EXPECT_EQ(windows_of(read("gemma3_text")), Windows(4, 4096));
    EXPECT_EQ(windows_of(read("qwen2", R"(, "sliding_window": 7)")), Windows(4, 0));
}

TEST(HfWindows, OfQwenDifferFromFamilyToFamily) {
    const std::string used = R"(, "use_sliding_window": true, "max_window_layers": 3)";
    EXPECT_EQ(windows_of(read("qwen2", used)), (Windows{0, 0, 0, 4096}));
    EXPECT_EQ(windows_of(read("qwen3", used)), (Windows{0, 0, 0, 4096}));
    EXPECT_EQ(windows_of(read("qwen2_moe", used)), (Windows{4096, 0, 4096, 0}));
    EXPECT_EQ(windows_of(read("qwen3_moe", used)), Windows(4, 4096));
}

TEST(HfWindows, AreRefusedWhereTheyContradictEachOther) {
    const std::string mixed = R"(, "layer_types": ["full_attention", "sliding_attention",
        "full_attention", "sliding_attention"])";
    for (const char* const family : {"mistral", "mixtral", "phi3"}) {
        expect_refused(family, mixed + R"(, "sliding_window": 8)", "layer_types differ");
    }
    expect_refused("qwen3_moe", mixed + R"(, "use_sliding_window": true)", "layer_types differ");
    for (const char* const family : {"qwen2", "qwen2_moe", "qwen3", "smollm3"}) {
        expect_refused(family, mixed, "use_sliding_window is false");
    }
    expect_refused("gemma2", R"(, "sliding_window": null)", "sliding_window is null");
    expect_refused("gemma3_text", R"(, "sliding_window": null)", "sliding_window is null");
    expect_refused("gemma3_text", R"(, "sliding_window": 0)", "sliding_window is 0");
}

TEST(HfRope, IsThatOfTheFamily) {
    const std::string factors = R"("short_factor": [1], "long_factor": [2])";
    // transformers takes YaRN of a Phi-3 for LongRoPE, whose first context is 4096.
    for (const char* const type : {"yarn", "su", "longrope"}) {
        const Architecture found = read(
            "phi3",
            R"(, "max_position_embeddings": 8192, "rope_scaling": {"type": ")" + std::string(type) +
                "\", " + factors + "}"
        );
        EXPECT_EQ(found.traits.rope.kind, Kind::Divisors) << type;
        EXPECT_EQ(found.model.context, 4096U);
        EXPECT_NEAR(found.traits.rope.magnitude, std::sqrt(1 + std::log(2) / std::log(4096)), 1e-9);
    }
    expect_refused(
        "phi3", R"(, "rope_scaling": {"type": "linear", "factor": 2})", "only default and longrope"
    );
    expect_refused(
        "llama", R"(, "partial_rotary_factor": 0.5)", "partial_rotary_factor is below 1"
    );
    expect_refused("phi3", R"(, "partial_rotary_factor": 0.125)", "leaves nothing to rotate");
}

TEST(HfRope, OldAndNewObjectsAgree) {
    const std::string linear = R"({"rope_type": "linear", "factor": 2, "rope_theta": 7e4})";
    const auto both = [](const std::string& scaling, const std::string& parameters) {
        return R"(, "rope_scaling": )" + scaling + R"(, "rope_parameters": )" + parameters;
    };
    EXPECT_EQ(read("llama", both(linear, linear)).traits.rope.factor, 2);
    EXPECT_EQ(read("llama", both("{}", linear)).traits.rope.factor, 2);
    EXPECT_EQ(read("llama", both("{}", linear)).model.rope_base, 7e4);
    EXPECT_EQ(read("llama", both(linear, R"({"rope_theta": 7e4})")).traits.rope.factor, 2);
    const std::string differ = "rope_scaling and rope_parameters differ";
    expect_refused("llama", both(R"({"type": "linear", "factor": 4})", linear), differ);
    expect_refused("llama", both(R"({"type": "default"})", linear), differ);
    // The context of LongRoPE is read once, so both objects give the same magnitude.
    const std::string long_rope = R"({"type": "longrope", "short_factor": [1]})";
    const Architecture found =
        read("phi3", R"(, "max_position_embeddings": 8192)" + both(long_rope, long_rope));
    EXPECT_GT(found.traits.rope.magnitude, 1);
}

TEST(HfRope, OfGemma3IsToldByKindOfLayer) {
    const Architecture found = read(
        "gemma3_text",
        R"(, "rope_local_base_freq": 5000, "rope_parameters": {"sliding_attention": {},
           "full_attention": {"rope_type": "linear", "factor": 8}})"
    );
    EXPECT_EQ(found.traits.local_rope_base, 5000);
    EXPECT_EQ(found.model.rope_base, 1e6);
    EXPECT_EQ(found.traits.rope.factor, 8);
    expect_refused(
        "gemma3_text",
        R"(, "rope_parameters": {"rope_type": "linear", "factor": 8})",
        "rope_parameters does not tell full_attention"
    );
    expect_refused(
        "qwen2", R"(, "rope_parameters": {"full_attention": {}})", "tells full_attention"
    );
}

TEST(HfRope, AngleStaysWithinWhatSinesAreComputedFor) {
    const auto checked = [](const char* scaling) {
        return check(read("llama", std::string(R"(, "rope_scaling": )") + scaling));
    };
    EXPECT_TRUE(checked(R"({"type": "linear", "factor": 0.5})").has_value());
    const auto bad = checked(R"({"type": "linear", "factor": 1e-6})");
    ASSERT_TRUE(bad.has_error());
    EXPECT_NE(bad.error().detail.find("turns too far"), std::string::npos) << bad.error().detail;
    EXPECT_TRUE(checked(R"({"type": "longrope", "short_factor": [1e-5]})").has_error());
}

TEST(HfConfigOfAll, RowsSeeNoLaterRows) {
    for (const Family* const family : all_families()) {
        expect_refused(std::string(family->name), R"(, "is_causal": false)", "is_causal is false");
    }
}

TEST(HfExperts, HaveTwoNamesForTheirNumber) {
    const auto text = [](const std::string& numbers) {
        return R"({"model_type": "qwen3_moe", "hidden_size": 64, "intermediate_size": 12,
            "num_hidden_layers": 1, "num_attention_heads": 8, "vocab_size": 6,
            "num_experts_per_tok": 2, )" +
               numbers + "}";
    };
    for (const char* const name : {"num_experts", "num_local_experts"}) {
        const auto found = parse_hf_config(text('"' + std::string(name) + "\": 8"), "test");
        ASSERT_TRUE(found.has_value()) << found.error().detail;
        EXPECT_EQ(found->traits.experts.count, 8U);
    }
    const auto both = parse_hf_config(text(R"("num_experts": 8, "num_local_experts": 4)"), "test");
    ASSERT_TRUE(both.has_error());
    EXPECT_NE(both.error().detail.find("two different values"), std::string::npos);
}

TEST(HfConfigOfGemma, ObeysTheActivationThatTransformersObeys) {
    EXPECT_EQ(read("gemma", R"(, "hidden_act": "gelu")").traits.activation, Activation::GeluTanh);
    expect_refused("gemma", R"(, "hidden_act": "silu")", "hidden_act is \"silu\"");
    expect_refused("gemma", R"(, "use_bidirectional_attention": true)", "bidirectional");
    expect_refused("granite", R"(, "attention_multiplier": 0)", "attention_multiplier is 0");
}

}  // namespace
}  // namespace stacking::models

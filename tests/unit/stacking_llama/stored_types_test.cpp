// Models whose weights are kept as the file has them: the same bits as with fp32.
#include "stacking/models/gguf_model.hpp"
#include "tests/unit/stacking_blocks/random_blocks.hpp"
#include "tests/unit/stacking_llama/random_llama.hpp"
#include "tests/unit/stacking_models/gguf_builder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

namespace stacking::llama {
namespace {

using blocks::WeightType;
using kernels::WeightFormat;
using test::Stages;

constexpr std::uint32_t kWide = 256;
constexpr std::uint32_t kFfn = 512;
constexpr std::uint32_t kKeyWidth = 128;

/// The type of each matrix by the end of its name, and that of all others.
struct Types {
    WeightType others;
    std::map<std::string, WeightType> by_end = {};
};

/// Numbers of the types in GGUF files (ggml.h).
std::uint32_t number_of(WeightType type) {
    static const std::map<WeightType, std::uint32_t> kNumbers = {
        {WeightType::F32, 0},
        {WeightType::F16, 1},
        {WeightType::Q4_0, 2},
        {WeightType::Q4_1, 3},
        {WeightType::Q5_0, 6},
        {WeightType::Q5_1, 7},
        {WeightType::Q8_0, 8},
        {WeightType::Q2_K, 10},
        {WeightType::Q3_K, 11},
        {WeightType::Q4_K, 12},
        {WeightType::Q5_K, 13},
        {WeightType::Q6_K, 14},
        {WeightType::IQ4_NL, 20},
        {WeightType::IQ4_XS, 23},
        {WeightType::BF16, 30}};
    return kNumbers.at(type);
}

models::test::Bytes random_weights(WeightType type, std::uint64_t values, std::uint64_t seed) {
    models::test::Bytes bytes;
    if (is_quantised(type)) {
        bytes.add_all(blocks::test::random_blocks(type, values / block_size(type).values, seed));
        return bytes;
    }
    swarm::Rng rng(seed, 5);
    for (std::uint64_t i = 0; i < values; ++i) {
        // Sixteen bits that are a number of -0.5 to 0.5 as fp16, and as bf16.
        const auto top = static_cast<std::uint16_t>(rng.below(2) << 15U | rng.below(0x400));
        const std::uint32_t exponent = type == WeightType::F16 ? 0x3400 : 0x3d00;
        const auto half = static_cast<std::uint16_t>(top | exponent);
        type == WeightType::F32 ? bytes.add(std::uint32_t{half} << 16U) : bytes.add(half);
    }
    return bytes;
}

models::ModelSource model_of(const Types& types) {
    models::test::GgufBuilder file;
    file.text("general.architecture", "llama")
        .text("general.name", "stored")
        .u32("llama.block_count", 2)
        .u32("llama.embedding_length", kWide)
        .u32("llama.feed_forward_length", kFfn)
        .u32("llama.attention.head_count", 4)
        .u32("llama.attention.head_count_kv", 2)
        .u32("llama.context_length", test::kContext)
        .f32("llama.attention.layer_norm_rms_epsilon", 1e-5F)
        .u32("tokenizer.ggml.eos_token_id", 2);
    std::uint64_t seed = 0;
    const auto add = [&](const std::string& name, std::uint64_t inputs, std::uint64_t outputs) {
        WeightType type = types.others;
        for (const auto& [end, other] : types.by_end) {
            type = name.ends_with(end + ".weight") ? other : type;
        }
        const auto weights = random_weights(type, inputs * outputs, ++seed);
        file.tensor(name, {inputs, outputs}, number_of(type), weights);
    };
    const auto add_norm = [&](const std::string& name) {
        file.f32_tensor(name, {kWide}, std::vector<float>(kWide, 0.75F));
    };
    add("token_embd.weight", kWide, test::kVocabulary);
    for (const std::string layer : {"blk.0.", "blk.1."}) {
        add_norm(layer + "attn_norm.weight");
        add(layer + "attn_q.weight", kWide, kWide);
        add(layer + "attn_k.weight", kWide, kKeyWidth);
        add(layer + "attn_v.weight", kWide, kKeyWidth);
        add(layer + "attn_output.weight", kWide, kWide);
        add_norm(layer + "ffn_norm.weight");
        add(layer + "ffn_gate.weight", kWide, kFfn);
        add(layer + "ffn_up.weight", kWide, kFfn);
        add(layer + "ffn_down.weight", kFfn, kWide);
    }
    add_norm("output_norm.weight");
    auto model = models::open_gguf(std::make_unique<models::MemoryBytes>(file.bytes()));
    EXPECT_TRUE(model.has_value()) << model.error().detail;
    return std::move(*model);
}

/// Logits of ten positions: seven at once, then one by one.
std::vector<float> logits_of(
    const models::ModelSource& model, std::uint32_t stages, WeightChoice choice
) {
    Stages parts(model, stages, choice);
    parts.reserve(CacheId{1}, 10);
    std::vector<float> all = parts.prefill(CacheId{1}, 0, 7, 7);
    const std::vector<float> rest = parts.prefill(CacheId{1}, 7, 3, 1);
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
}

void expect_equal_bits(const models::ModelSource& model, const char* name) {
    const std::vector<float> wide = logits_of(model, 1, WeightFormat::Fp32);
    ASSERT_TRUE(std::isfinite(wide.back())) << name;
    ASSERT_NE(wide.front(), wide.back()) << name;
    for (const std::uint32_t stages : {1U, 2U}) {
        const std::vector<float> kept = logits_of(model, stages, WeightChoice::as_is());
        ASSERT_EQ(kept.size(), wide.size());
        EXPECT_EQ(std::memcmp(kept.data(), wide.data(), wide.size() * sizeof(float)), 0)
            << name << ", " << stages << " stages";
    }
}

TEST(StoredTypes, AModelOfEachTypeGivesTheBitsOfFp32) {
    for (const WeightType type : blocks::test::kQuantisedTypes) {
        expect_equal_bits(model_of({type}), std::string(name_of(type)).c_str());
    }
    for (const WeightType type : {WeightType::F16, WeightType::BF16, WeightType::F32}) {
        expect_equal_bits(model_of({type}), std::string(name_of(type)).c_str());
    }
}

/// The model of another type, whose matrices are F8_E4M3 with scales of one of the three schemes.
models::ModelSource f8_model(std::uint32_t block_rows, std::uint32_t block_columns) {
    auto architecture = model_of({WeightType::F32}).architecture();
    architecture.tied_embeddings = false;
    models::ModelSource::Tensors tensors;
    models::test::Bytes bytes;
    swarm::Rng rng(block_rows, block_columns);
    std::array<std::uint8_t, 4093> drawn{};
    for (std::uint8_t& byte : drawn) {
        byte = static_cast<std::uint8_t>(rng.below(0x7f) | rng.below(2) << 7U);
    }
    for (const auto& spec : models::tensors_of(architecture)) {
        models::StoredTensor tensor{spec.shape};
        tensor.offset = bytes.get().size();
        tensor.type = spec.shape.size() == 2 ? WeightType::F8_E4M3 : WeightType::F32;
        for (std::uint64_t i = 0; i < spec.elements(); ++i) {
            const std::uint8_t byte = drawn[(i + tensor.offset) % drawn.size()];
            spec.shape.size() == 2 ? bytes.add(byte) : bytes.add(0.75F);
        }
        tensor.bytes = bytes.get().size() - tensor.offset;
        if (spec.shape.size() == 2 && block_rows > 0) {
            const auto up = [](std::uint64_t value, std::uint64_t by) {
                return (value + by - 1) / by;
            };
            const std::uint32_t columns = std::min<std::uint32_t>(block_columns, spec.shape[1]);
            tensor.scales = {block_rows, columns, {}};
            tensor.scales.values.resize(up(tensor.rows(), block_rows) * up(spec.shape[1], columns));
            for (float& scale : tensor.scales.values) {
                scale = 0.001F + 0.001F * static_cast<float>(rng.unit());
            }
        }
        tensors.emplace(spec.name, std::move(tensor));
    }
    models::ModelSource::Files files;
    files.push_back(std::make_unique<models::MemoryBytes>(bytes.get()));
    auto model = models::ModelSource::make(architecture, std::move(tensors), std::move(files));
    EXPECT_TRUE(model.has_value()) << model.error().detail;
    return std::move(*model);
}

TEST(StoredTypes, F8WithScalesOfTensorRowsOrBlocksGivesTheBitsOfFp32) {
    constexpr std::uint32_t kAll = 1U << 20;
    expect_equal_bits(f8_model(kAll, kAll), "tensor");
    expect_equal_bits(f8_model(1, kAll), "row");
    expect_equal_bits(f8_model(128, 128), "block");
    const auto model = f8_model(128, 128);
    const auto layout = split(model.architecture(), 1).front();
    const auto stage = *load_stage(model, layout, WeightChoice::as_is());
    EXPECT_EQ(stage->layers[0].attention_out.parts()[0].view().format, WeightFormat::F8);
    EXPECT_LT(kept_bytes(model, layout, WeightChoice::as_is()), model.stored_bytes(layout) * 5 / 4);
}

TEST(StoredTypes, F8WithOtherBlocksIsKeptAsFp32) {
    const auto model = f8_model(64, 96);
    expect_equal_bits(model, "blocks of 96");
    const auto layout = split(model.architecture(), 1).front();
    const auto stage = *load_stage(model, layout, WeightChoice::as_is());
    EXPECT_EQ(stage->layers[0].attention_out.parts()[0].view().format, WeightFormat::Fp32);
}

TEST(StoredTypes, JoinedMatricesKeepTheTypesOfTheirParts) {
    const auto model = model_of(
        {WeightType::Q4_K,
         {{"attn_v", WeightType::Q6_K},
          {"ffn_gate", WeightType::Q5_1},
          {"ffn_up", WeightType::F16},
          {"ffn_down", WeightType::Q3_K},
          {"token_embd", WeightType::Q8_0}}}
    );
    expect_equal_bits(model, "mixed");
    const auto stage =
        *load_stage(model, split(model.architecture(), 1).front(), WeightChoice::as_is());
    const LayerWeights& layer = stage->layers[1];
    ASSERT_EQ(layer.query_key_value.parts().size(), 2U);
    EXPECT_EQ(layer.query_key_value.parts()[0].outputs(), kWide + kKeyWidth);
    EXPECT_EQ(layer.query_key_value.outputs(), kWide + 2 * kKeyWidth);
    EXPECT_EQ(layer.experts.front().gate_up.parts().size(), 2U);
    std::vector<float> row(kWide);
    for (const auto& [output, name, at] :
         std::vector<std::tuple<std::size_t, const char*, std::size_t>>{
             {5, "layers.1.attn.wq", 5},
             {kWide + 3, "layers.1.attn.wk", 3},
             {kWide + kKeyWidth + 9, "layers.1.attn.wv", 9}}) {
        layer.query_key_value.read_row(output, row);
        const std::vector<float> whole = *model.read(name);
        EXPECT_TRUE(std::ranges::equal(row, std::span(whole).subspan(at * kWide, kWide))) << name;
    }
}

TEST(StoredTypes, AMatrixWithAnAdapterStandsBesideOthersThatStayAsTheyAre) {
    for (const WeightType type : {WeightType::BF16, WeightType::Q4_K}) {
        for (const char* const name : {"layers.1.attn.wq", "layers.0.attn.wk", "layers.1.mlp.w3"}) {
            auto model = model_of({type});
            const models::StoredTensor& tensor = model.tensors().at(name);
            models::LowRank adapter{2, 0.5F};
            adapter.out.assign(2 * tensor.rows(), 0.125F);
            adapter.in.assign(2 * tensor.columns(), 0.25F);
            const std::vector<float> plain = logits_of(model, 1, WeightFormat::Fp32);
            model.set_adapter(name, std::make_shared<const models::LowRank>(std::move(adapter)));
            EXPECT_NE(logits_of(model, 1, WeightFormat::Fp32), plain) << name;
            expect_equal_bits(model, name);
        }
    }
}

TEST(StoredTypes, TheMemoryIsThatOfTheFile) {
    for (const WeightType type : blocks::test::kQuantisedTypes) {
        const auto model = model_of({type});
        const auto layout = split(model.architecture(), 2).front();
        const auto stage = *load_stage(model, layout, WeightChoice::as_is());
        const LayerWeights& layer = stage->layers.front();
        const std::uint64_t bytes = stage->embedding->bytes() + layer.query_key_value.bytes() +
                                    layer.attention_out.bytes() +
                                    layer.experts.front().gate_up.bytes() +
                                    layer.experts.front().down.bytes() + 2 * kWide * sizeof(float);
        EXPECT_EQ(bytes, kept_bytes(model, layout, WeightChoice::as_is())) << name_of(type);
        // The embedding has 130 rows, which take three panels.
        EXPECT_LE(
            static_cast<double>(bytes), 1.15 * static_cast<double>(model.stored_bytes(layout))
        ) << name_of(type);
    }
}

TEST(StoredTypes, AScaleThatIsNoNumberIsRefusedWhenTheStageIsLoaded) {
    models::test::GgufBuilder file;
    file.text("general.architecture", "llama")
        .u32("llama.block_count", 1)
        .u32("llama.embedding_length", 32)
        .u32("llama.feed_forward_length", 32)
        .u32("llama.attention.head_count", 1)
        .u32("llama.attention.head_count_kv", 1)
        .u32("llama.context_length", 8)
        .f32("llama.attention.layer_norm_rms_epsilon", 1e-5F);
    const auto norm = std::vector<float>(32, 1.0F);
    const auto add = [&](const std::string& name, std::uint16_t scale) {
        models::test::Bytes bytes;
        for (std::size_t row = 0; row < 32; ++row) {
            bytes.add(row == 20 ? scale : std::uint16_t{0x2000});
            for (std::size_t i = 0; i < 32; ++i) {
                bytes.add(std::uint8_t{3});
            }
        }
        file.tensor(name, {32, 32}, number_of(WeightType::Q8_0), bytes);
    };
    add("token_embd.weight", 0x2000);
    file.f32_tensor("blk.0.attn_norm.weight", {32}, norm);
    for (const char* const name :
         {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
        const bool spoiled = std::string(name) == "ffn_up";
        add("blk.0." + std::string(name) + ".weight", spoiled ? 0x7c00 : 0x2000);
    }
    file.f32_tensor("blk.0.ffn_norm.weight", {32}, norm);
    file.f32_tensor("output_norm.weight", {32}, norm);
    const auto model = models::open_gguf(std::make_unique<models::MemoryBytes>(file.bytes()));
    ASSERT_TRUE(model.has_value()) << model.error().detail;
    const auto layout = split(model->architecture(), 1).front();
    for (const WeightChoice choice : {WeightChoice::as_is(), WeightChoice(WeightFormat::Fp32)}) {
        const auto stage = load_stage(*model, layout, choice);
        ASSERT_FALSE(stage.has_value());
        EXPECT_EQ(stage.error().code, swarm::ErrorCode::NotFinite);
        EXPECT_NE(stage.error().detail.find("layers.0.mlp.w3 has a weight"), std::string::npos)
            << stage.error().detail;
    }
}

TEST(WeightChoice, NamesAsIsLikeTheValuesThatItGives) {
    EXPECT_EQ(values_of(*parse_weight_choice("as-is")), values_of(*parse_weight_choice("fp32")));
    EXPECT_NE(values_of(*parse_weight_choice("as-is")), values_of(*parse_weight_choice("bf16")));
    EXPECT_NE(values_of(*parse_weight_choice("as-is")), values_of(*parse_weight_choice("int8")));
    EXPECT_FALSE(parse_weight_choice("blocks").has_value());
    EXPECT_FALSE(parse_weight_choice("fp16").has_value());
}

}  // namespace
}  // namespace stacking::llama

#include "stacking/models/gguf_model.hpp"

#include "stacking/models/gguf_architecture.hpp"
#include "tests/unit/stacking_models/small_gguf.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace stacking::models {
namespace {

using swarm::ErrorCode;
using test::counted;
using test::GgufBuilder;

swarm::Result<ModelSource> open(const GgufBuilder& file) {
    return open_gguf(std::make_unique<MemoryBytes>(file.bytes()));
}

void expect_no_model(const GgufBuilder& file, ErrorCode code, const std::string& text) {
    const auto model = open(file);
    ASSERT_TRUE(model.has_error()) << text;
    EXPECT_EQ(model.error().code, code) << model.error().detail;
    EXPECT_NE(model.error().detail.find(text), std::string::npos) << model.error().detail;
}

/// A source that records which bytes were read.
class WatchedBytes final : public ByteSource {
 public:
    using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

    WatchedBytes(std::vector<std::byte> bytes, std::shared_ptr<Ranges> ranges)
        : bytes_(std::move(bytes)), ranges_(std::move(ranges)) {}

    [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }

    [[nodiscard]] swarm::Result<> read(std::uint64_t offset, std::span<std::byte> bytes)
        const override {
        ranges_->emplace_back(offset, offset + bytes.size());
        return bytes_.read(offset, bytes);
    }

 private:
    MemoryBytes bytes_;
    std::shared_ptr<Ranges> ranges_;
};

TEST(GgufModel, TakesItsArchitectureFromTheMetadata) {
    const auto model = open(test::small_gguf());
    ASSERT_TRUE(model.has_value()) << model.error().detail;
    const Architecture& found = model->architecture();
    EXPECT_EQ(found.name, "small");
    EXPECT_EQ(found.model.layers, 2U);
    EXPECT_EQ(found.model.width, 8U);
    EXPECT_EQ(found.model.heads, 2U);
    EXPECT_EQ(found.model.kv_heads, 1U);
    EXPECT_EQ(found.model.ffn_width, 12U);
    EXPECT_EQ(found.model.vocabulary, 6U);
    EXPECT_EQ(found.model.context, 64U);
    EXPECT_EQ(found.model.rope_base, 100000.0);
    EXPECT_EQ(found.model.norm_epsilon, double{1e-5F});
    EXPECT_TRUE(found.tied_embeddings);
    EXPECT_FALSE(found.begin_token.has_value());
    EXPECT_EQ(found.end_tokens, std::vector<std::uint32_t>{2});
}

TEST(GgufModel, EveryEndTokenEndsATextAndEachIsThereOnce) {
    GgufBuilder file;
    test::add_small_metadata(file);
    file.u32("tokenizer.ggml.eot_token_id", 4).u32("tokenizer.ggml.eom_token_id", 2);
    test::add_small_tensors(file);
    const auto model = open(file);
    ASSERT_TRUE(model.has_value()) << model.error().detail;
    EXPECT_EQ(model->architecture().end_tokens, (std::vector<std::uint32_t>{2, 4}));
}

TEST(GgufModel, APartOfASplitModelSaysSo) {
    GgufBuilder file;
    test::add_small_metadata(file);
    file.u32("split.no", 0).u32("split.count", 3);
    expect_no_model(file, ErrorCode::Unsupported, "part 1 of 3 of a split model");
}

TEST(GgufModel, UndoesTheRopeOrderOfQueriesAndKeysAlone) {
    const auto model = open(test::small_gguf());
    ASSERT_TRUE(model.has_value()) << model.error().detail;
    // The file stores the four rows of a head in the order 0, 2, 1, 3.
    const auto queries = model->read("layers.0.attn.wq");
    ASSERT_TRUE(queries.has_value()) << queries.error().detail;
    const std::uint32_t stored_row[] = {0, 2, 1, 3, 4, 6, 5, 7};
    for (std::size_t row = 0; row < 8; ++row) {
        EXPECT_EQ((*queries)[row * 8], 2000.0F + 8.0F * static_cast<float>(stored_row[row])) << row;
    }
    const auto keys = model->read("layers.1.attn.wk");
    EXPECT_EQ((*keys)[8], 12000 + 16);
    EXPECT_EQ((*keys)[16], 12000 + 8);
    EXPECT_EQ(*model->read("layers.0.attn.wv"), counted(32, 4000));
    EXPECT_EQ(*model->read("layers.0.attn.wo"), counted(64, 5000));
}

TEST(GgufModel, NamesFeedForwardMatricesAsTheModelUsesThem) {
    const auto model = open(test::small_gguf());
    ASSERT_TRUE(model.has_value());
    EXPECT_EQ(model->read("layers.0.mlp.w1")->front(), 7000);  // gate
    EXPECT_EQ(model->read("layers.0.mlp.w3")->front(), 8000);  // up
    EXPECT_EQ(model->read("layers.0.mlp.w2")->front(), 9000);  // down
    EXPECT_EQ(model->tensors().at("layers.0.mlp.w2").shape, (std::vector<std::uint32_t>{8, 12}));
}

TEST(GgufModel, GivesTheEmbeddingAsHeadWhenTheyAreTied) {
    const auto tied = open(test::small_gguf());
    ASSERT_TRUE(tied.has_value());
    EXPECT_EQ(*tied->read("head.weight"), *tied->read("embed.weight"));
    GgufBuilder file = test::small_gguf();
    file.f32_tensor("output.weight", {8, 6}, counted(48, -500));
    const auto untied = open(file);
    ASSERT_TRUE(untied.has_value()) << untied.error().detail;
    EXPECT_FALSE(untied->architecture().tied_embeddings);
    EXPECT_EQ(untied->read("head.weight")->front(), -500);
}

TEST(GgufModel, AnyRangeOfRowsEqualsThatPartOfTheWhole) {
    const auto model = open(test::small_gguf());
    ASSERT_TRUE(model.has_value());
    for (const char* const name : {"layers.0.attn.wq", "layers.0.attn.wv", "layers.0.attn_norm"}) {
        const std::vector<float> whole = *model->read(name);
        const StoredTensor& tensor = model->tensors().find(name)->second;
        for (std::uint64_t first = 0; first <= tensor.rows(); ++first) {
            for (std::uint64_t count = 0; first + count <= tensor.rows(); ++count) {
                std::vector<float> part(count * tensor.columns());
                const auto done = model->read_rows(name, {first, count}, part);
                ASSERT_TRUE(done.has_value()) << done.error().detail;
                const auto begin = first * tensor.columns();
                ASSERT_TRUE(std::ranges::equal(part, std::span(whole).subspan(begin, part.size())))
                    << name << " rows " << first << "+" << count;
            }
        }
    }
}

TEST(GgufModel, RefusesRowsThatAreNotThere) {
    const auto model = open(test::small_gguf());
    ASSERT_TRUE(model.has_value());
    std::vector<float> row(8);
    EXPECT_EQ(model->read("nobody").error().code, ErrorCode::NotFound);
    const char* const name = "layers.0.attn.wv";
    EXPECT_EQ(model->read_rows(name, {4, 1}, row).error().code, ErrorCode::Mismatch);
    EXPECT_EQ(model->read_rows(name, {~0ULL, 2}, row).error().code, ErrorCode::Mismatch);
    EXPECT_EQ(model->read_rows(name, {0, 2}, row).error().code, ErrorCode::Mismatch);
}

TEST(GgufModel, AStageReadsItsOwnBytesOnly) {
    const auto ranges = std::make_shared<WatchedBytes::Ranges>();
    auto file = std::make_unique<WatchedBytes>(test::small_gguf().bytes(), ranges);
    const auto model = open_gguf(std::move(file));
    ASSERT_TRUE(model.has_value());
    const auto layouts = split(model->architecture(), 2);
    ranges->clear();
    const auto weights = model->read_stage(layouts[1]);
    ASSERT_TRUE(weights.has_value()) << weights.error().detail;
    EXPECT_EQ(weights->size(), layouts[1].elements());
    EXPECT_EQ(weights->front(), 12000);  // layers.1.attn.wk
    std::uint64_t bytes = 0;
    for (const auto& [begin, end] : *ranges) {
        bytes += end - begin;
        const bool own = std::any_of(
            layouts[1].tensors.begin(),
            layouts[1].tensors.end(),
            [&, from = begin, to = end](const swarm::run::TensorSpec& spec) {
                const StoredTensor& tensor = model->tensors().find(spec.name)->second;
                return from >= tensor.offset && to <= tensor.offset + tensor.bytes;
            }
        );
        EXPECT_TRUE(own) << begin << " to " << end;
    }
    EXPECT_EQ(bytes, model->stored_bytes(layouts[1]));
}

TEST(GgufModel, AStageOfAnotherModelIsRefused) {
    const auto model = open(test::small_gguf());
    ASSERT_TRUE(model.has_value());
    Architecture wider = model->architecture();
    wider.model.ffn_width = 14;
    const auto weights = model->read_stage(split(wider, 2)[0]);
    ASSERT_TRUE(weights.has_error());
    EXPECT_EQ(weights.error().code, ErrorCode::Mismatch);
}

TEST(GgufModel, WeightsThatAreNotFiniteAreRefused) {
    GgufBuilder file;
    test::add_small_metadata(file);
    test::add_small_tensors(file);
    auto bytes = file.bytes();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(bytes.data() + bytes.size() - 4, &nan, 4);  // the end of output_norm
    const auto model = open_gguf(std::make_unique<MemoryBytes>(std::move(bytes)));
    ASSERT_TRUE(model.has_value());
    const auto refused = model->read("head.norm");
    EXPECT_EQ(refused.error().code, ErrorCode::NotFinite);
    EXPECT_EQ(refused.error().detail.find("drop the tensor"), std::string::npos);
    EXPECT_NE(refused.error().detail.find("head.norm has a weight"), std::string::npos);
}

TEST(GgufModel, RefusesABillionLayersAtOnce) {
    GgufBuilder file;
    test::add_small_metadata(file, 1'000'000'000);
    test::add_small_tensors(file);
    expect_no_model(file, ErrorCode::Unsupported, "1000000000 as layers");
}

TEST(GgufModel, RefusesTensorsThatAreMissingOrUnused) {
    GgufBuilder more;
    test::add_small_metadata(more, 3);
    test::add_small_tensors(more);
    expect_no_model(more, ErrorCode::Malformed, "there is no tensor blk.2.attn_k.weight");
    GgufBuilder fewer;
    test::add_small_metadata(fewer, 1);
    test::add_small_tensors(fewer);
    expect_no_model(fewer, ErrorCode::Unsupported, "blk.1.attn_k.weight is no part");
    GgufBuilder bias = test::small_gguf();
    bias.f32_tensor("blk.0.attn_q.bias", {8}, counted(8, 0));
    expect_no_model(bias, ErrorCode::Unsupported, "blk.0.attn_q.bias");
}

TEST(GgufModel, RefusesVariantsThatWouldChangeTheAnswer) {
    const auto with = [](auto add) {
        GgufBuilder file = test::small_gguf();
        add(file);
        return file;
    };
    expect_no_model(
        with([](GgufBuilder& file) { file.text("llama.rope.scaling.type", "spiral"); }),
        ErrorCode::Unsupported,
        "rope scaling \"spiral\""
    );
    expect_no_model(
        with([](GgufBuilder& file) { file.u32("llama.expert_count", 8); }),
        ErrorCode::Malformed,
        "llama.expert_used_count is missing"
    );
    expect_no_model(
        with([](GgufBuilder& file) {
            file.u32("llama.expert_count", 4'000'000).u32("llama.expert_used_count", 2);
        }),
        ErrorCode::Unsupported,
        "4000000 experts"
    );
    expect_no_model(
        with([](GgufBuilder& file) {
            file.u32("llama.expert_count", 8)
                .u32("llama.expert_used_count", 2)
                .u32("llama.expert_gating_func", 2);
        }),
        ErrorCode::Unsupported,
        "choice of experts"
    );
    expect_no_model(
        with([](GgufBuilder& file) { file.u32("llama.attention.key_length", 8); }),
        ErrorCode::Unsupported,
        "values of another width than keys"
    );
    expect_no_model(
        with([](GgufBuilder& file) {
            file.u32("llama.attention.key_length", 8).u32("llama.attention.value_length", 8);
        }),
        ErrorCode::Malformed,
        "blk.0.attn_k.weight is (4, 8), but the model's configuration makes it (8, 8)"
    );
    GgufBuilder other;
    other.text("general.architecture", "mamba");
    expect_no_model(other, ErrorCode::Unsupported, "\"mamba\"; these can be read: llama, qwen2");
    GgufBuilder bare;
    bare.text("general.architecture", "llama");
    expect_no_model(bare, ErrorCode::Malformed, "llama.block_count is missing");
}

TEST(GgufModel, ReadsOrRefusesWhatChangesTheAnswer) {
    const auto with = [](const auto& change) {
        GgufBuilder file = test::small_gguf();
        change(file);
        return file;
    };
    const auto linear =
        open(with([](GgufBuilder& file) { file.f32("llama.rope.scaling.factor", 4); }));
    ASSERT_TRUE(linear.has_value()) << linear.error().detail;
    EXPECT_EQ(linear->architecture().traits.rope.kind, RopeScaling::Kind::Linear);
    const auto windows =
        open(with([](GgufBuilder& file) { file.u32("llama.attention.sliding_window", 8); }));
    ASSERT_TRUE(windows.has_value()) << windows.error().detail;
    EXPECT_EQ(windows->architecture().attention_of(1).window, 8U);
    expect_no_model(
        with([](GgufBuilder& file) {
            file.text("llama.rope.scaling.type", "linear").f32("llama.rope.scaling.factor", 2);
            file.f32_tensor("rope_freqs.weight", {2}, counted(2, 1));
        }),
        ErrorCode::Unsupported,
        "rope_freqs.weight beside another rope scaling"
    );
    expect_no_model(
        with([](GgufBuilder& file) { file.f32("llama.rope.scaling.yarn_ext_factor", 1); }),
        ErrorCode::Unsupported,
        ".rope.scaling.yarn_ext_factor is not read"
    );
    expect_no_model(
        with([](GgufBuilder& file) {
            file.key("llama.attention.causal", test::Gguf::Bool, std::uint8_t{0});
        }),
        ErrorCode::Unsupported,
        "see later rows"
    );
    expect_no_model(
        with([](GgufBuilder& file) {
            file.u32("llama.attention.key_length", 0).u32("llama.attention.value_length", 0);
        }),
        ErrorCode::Malformed,
        "heads without a width"
    );
    expect_no_model(
        with([](GgufBuilder& file) { file.u32("llama.rope.dimension_count", 0); }),
        ErrorCode::Malformed,
        "no dimension of a head"
    );
    expect_no_model(
        with([](GgufBuilder& file) {
            file.numbers("llama.rope.dimension_count", {4, 4});
        }),
        ErrorCode::Malformed,
        "llama.rope.dimension_count is missing or no number"
    );
}

TEST(GgufModel, TheRopeBaseOfAFileWithoutOneIsThatOfTheFirstLlama) {
    GgufBuilder file;
    file.text("general.architecture", "gemma3")
        .u32("gemma3.block_count", 1)
        .u32("gemma3.embedding_length", 8)
        .u32("gemma3.feed_forward_length", 12)
        .u32("gemma3.attention.head_count", 2)
        .u32("gemma3.context_length", 64)
        .f32("gemma3.attention.layer_norm_rms_epsilon", 1e-5F);
    const auto read = [](const GgufBuilder& from) {
        const MemoryBytes bytes(from.bytes());
        return read_gguf_architecture(*read_gguf_header(bytes), {});
    };
    file.f32_tensor("token_embd.weight", {8, 6}, counted(48, 0));
    const auto plain = read(file);
    ASSERT_TRUE(plain.has_value()) << plain.error().detail;
    EXPECT_EQ(plain->model.rope_base, 10000);
    GgufBuilder patterned = file;
    patterned.numbers("gemma3.attention.sliding_window_pattern", {1, 0});
    EXPECT_TRUE(read(patterned).has_error());  // one entry for each layer
    patterned = file;
    patterned.u32("gemma3.attention.sliding_window_pattern", 2);
    const auto other = read(patterned);
    ASSERT_TRUE(other.has_error());
    EXPECT_NE(other.error().detail.find("another pattern"), std::string::npos);
}

TEST(GgufModel, ALlamaThatSaysItHasNoExpertsIsALlama) {
    GgufBuilder file = test::small_gguf();
    file.u32("llama.expert_count", 0);
    const auto model = open(file);
    ASSERT_TRUE(model.has_value()) << model.error().detail;
    EXPECT_EQ(model->architecture().traits.family, "llama");
    EXPECT_TRUE(model->architecture().traits.plain());
}

TEST(GgufModel, RefusesShapesThatContradictTheMetadata) {
    GgufBuilder file;
    file.text("general.architecture", "llama")
        .u32("llama.block_count", 2)
        .u32("llama.embedding_length", 8)
        .u32("llama.feed_forward_length", 16)
        .u32("llama.attention.head_count", 2)
        .u32("llama.attention.head_count_kv", 1)
        .u32("llama.context_length", 64)
        .f32("llama.attention.layer_norm_rms_epsilon", 1e-5F);
    test::add_small_tensors(file);
    expect_no_model(file, ErrorCode::Malformed, "blk.0.ffn_gate.weight is (12, 8)");
}

}  // namespace
}  // namespace stacking::models

// The files of a model on their way: a manifest by one server, a copy with holes by a newcomer.
#include "stacking/models/any_model.hpp"
#include "stacking/models/copies/file_manifest.hpp"
#include "stacking/models/copies/partial_copy.hpp"
#include "stacking/models/copies/shared_model.hpp"
#include "stacking/models/model_digest.hpp"
#include "tests/unit/net/temporary_folder.hpp"
#include "tests/unit/stacking_models/small_gguf.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <numeric>

namespace stacking::models {
namespace {

namespace fs = std::filesystem;
using swarm::ErrorCode;
using swarm::protocol::kChunkBytes;

/// Three layers of 4 MiB each: every matrix of the feed-forward part has more than a chunk.
test::GgufBuilder wide_gguf() {
    constexpr std::uint32_t kFfn = 40'000;
    test::GgufBuilder file;
    file.text("general.architecture", "llama")
        .text("general.name", "wide")
        .u32("llama.block_count", 3)
        .u32("llama.embedding_length", 8)
        .u32("llama.feed_forward_length", kFfn)
        .u32("llama.attention.head_count", 2)
        .u32("llama.attention.head_count_kv", 1)
        .u32("llama.context_length", 64)
        .f32("llama.attention.layer_norm_rms_epsilon", 1e-5F)
        .f32("llama.rope.freq_base", 100000.0F)
        .u32("tokenizer.ggml.eos_token_id", 2);
    float first = 0;
    const auto add = [&](const std::string& name, const std::vector<std::uint64_t>& sizes) {
        std::size_t count = 1;
        for (const std::uint64_t size : sizes) {
            count *= size;
        }
        file.f32_tensor(name, sizes, test::counted(count, first));
        first += 1000;
    };
    add("token_embd.weight", {8, 6});
    for (const std::string layer : {"blk.0.", "blk.1.", "blk.2."}) {
        add(layer + "attn_norm.weight", {8});
        add(layer + "attn_q.weight", {8, 8});
        add(layer + "attn_k.weight", {8, 4});
        add(layer + "attn_v.weight", {8, 4});
        add(layer + "attn_output.weight", {8, 8});
        add(layer + "ffn_norm.weight", {8});
        add(layer + "ffn_gate.weight", {8, kFfn});
        add(layer + "ffn_up.weight", {8, kFfn});
        add(layer + "ffn_down.weight", {kFfn, 8});
    }
    add("output_norm.weight", {8});
    return file;
}

class CopiesTest : public testing::Test {
 protected:
    void SetUp() override {
        const auto bytes = wide_gguf().bytes();
        std::ofstream out(file(), std::ios::binary);
        out.write(
            reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())
        );
        out.close();
        model_.emplace(*open_model(file()));
        shared_.emplace(*SharedModel::open(file(), *model_));
        while (!*shared_->hash_some()) {
        }
    }

    [[nodiscard]] fs::path file() const { return whole_.path() / "any name.gguf"; }

    [[nodiscard]] fs::path folder() const { return copies_.path() / "copy"; }

    [[nodiscard]] swarm::run::StageLayout layer(std::uint32_t number) const {
        return layers_of(model_->architecture(), number, number + 1);
    }

    PartialCopy begin() {
        auto copy = PartialCopy::resume(folder(), shared_->manifest());
        EXPECT_TRUE(copy) << (copy ? "" : copy.error().detail);
        return std::move(*copy);
    }

    void give(PartialCopy& copy, const std::vector<std::uint32_t>& chunks) {
        for (const std::uint32_t chunk : chunks) {
            ASSERT_TRUE(copy.put(chunk, *shared_->read(chunk)));
        }
        ASSERT_TRUE(copy.sync());
    }

    /// Opens the copy as a newcomer does: what opening lacks is given, until nothing is lacking.
    ModelSource open(PartialCopy& copy) {
        for (;;) {
            const MissingChunks missing;
            auto opened = open_model(copy.model());
            if (opened) {
                return std::move(*opened);
            }
            EXPECT_EQ(opened.error().code, ErrorCode::NotFound) << opened.error().detail;
            EXPECT_FALSE(missing.chunks().empty()) << opened.error().detail;
            give(copy, {missing.chunks().begin(), missing.chunks().end()});
        }
    }

    swarm::test::TemporaryFolder whole_;
    swarm::test::TemporaryFolder copies_;
    std::optional<ModelSource> model_;
    std::optional<SharedModel> shared_;
};

TEST_F(CopiesTest, WhatThreadsWouldMissIsNotedBeforeTheyRead) {
    PartialCopy copy = begin();
    const ModelSource model = open(copy);
    const MissingChunks missing;
    const RowRange all{0, 40'000};
    const auto there = model.check_there("layers.1.mlp.w1", all);
    ASSERT_TRUE(there.has_error());
    EXPECT_EQ(there.error().code, ErrorCode::NotFound) << there.error().detail;
    give(copy, {missing.chunks().begin(), missing.chunks().end()});
    const ModelSource again = open(copy);
    EXPECT_TRUE(again.check_there("layers.1.mlp.w1", all).has_value());
    std::vector<std::byte> room;
    EXPECT_TRUE(again.stored_rows("layers.1.mlp.w1", all, room).has_value());
    EXPECT_EQ(again.check_there("layers.1.mlp.w1", {1, 40'000}).error().code, ErrorCode::Mismatch);
}

TEST_F(CopiesTest, AManifestSurvivesItsBytes) {
    const auto manifest = FileManifest::decode(shared_->manifest());
    ASSERT_TRUE(manifest);
    EXPECT_EQ(manifest->encode(), shared_->manifest());
    ASSERT_EQ(manifest->files.size(), 1U);
    EXPECT_EQ(manifest->files[0].name, "model.gguf");
    EXPECT_EQ(manifest->chunks.size(), chunks_of(fs::file_size(file())));
    EXPECT_EQ(manifest->place_of(1), (FileRange{0, kChunkBytes, kChunkBytes}));
}

TEST_F(CopiesTest, AManifestOfFilesWithAnotherNameIsTheSame) {
    const fs::path renamed = whole_.path() / "renamed.gguf";
    fs::rename(file(), renamed);
    auto shared = SharedModel::open(renamed, *model_);
    ASSERT_TRUE(shared);
    while (!*shared->hash_some()) {
    }
    EXPECT_EQ(shared->digest(), shared_->digest());
}

TEST_F(CopiesTest, ABrokenManifestIsRefused) {
    const std::vector<std::byte>& good = shared_->manifest();
    for (std::size_t size = 0; size < good.size(); size += size < 400 ? 1 : 97) {
        EXPECT_FALSE(FileManifest::decode(std::span(good).first(size))) << size;
    }
    std::vector<std::byte> longer = good;
    longer.push_back({});
    EXPECT_FALSE(FileManifest::decode(longer));
}

TEST(FileManifest, TakesPlainNamesOfModelsFilesOnly) {
    for (const char* const name : {"model.gguf", "model-00001-of-00002.safetensors", "a_b.json"}) {
        EXPECT_TRUE(is_model_file_name(name)) << name;
    }
    for (const char* const name :
         {"",
          ".gguf",
          "../model.gguf",
          "a/b.gguf",
          "model.so",
          "a b.gguf",
          "a\\b.gguf",
          "x.gguf\n"}) {
        EXPECT_FALSE(is_model_file_name(name)) << name;
    }
    EXPECT_FALSE(is_model_file_name(std::string(300, 'a') + ".gguf"));
}

TEST_F(CopiesTest, ACopyOfOneLayerHasItsWeightsAndTheModelsDigest) {
    PartialCopy copy = begin();
    ModelSource source = open(copy);
    EXPECT_EQ(*identity_of(source), *identity_of(*model_));
    give(copy, missing_chunks(source, layer(1)));
    source = open(copy);
    EXPECT_EQ(*digest_of(source, layer(1)), *digest_of(*model_, layer(1)));
    EXPECT_TRUE(missing_chunks(source, layer(1)).empty());
    EXPECT_LT(copy.present(), copy.manifest().chunks.size() * 2 / 3);
}

TEST_F(CopiesTest, ACopyIsNeverTakenForAWholeModel) {
    PartialCopy copy = begin();
    give(copy, missing_chunks(open(copy), layer(1)));
    const ModelSource source = open(copy);
    const auto read = source.read_stage(layer(0));
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().detail.find("a part of a model's file"), std::string::npos)
        << read.error().detail;
    EXPECT_FALSE(digest_of(source, layer(0)));
}

TEST_F(CopiesTest, ACopyTakesNoChunkWithAnotherHash) {
    PartialCopy copy = begin();
    std::vector<std::byte> bytes = *shared_->read(2);
    bytes.back() ^= std::byte{1};
    EXPECT_FALSE(copy.put(2, bytes));
    EXPECT_FALSE(copy.put(3, *shared_->read(2)));
    EXPECT_FALSE(copy.put(100'000, *shared_->read(2)));
    EXPECT_EQ(copy.present(), 0U);
}

TEST_F(CopiesTest, ALaterStartKeepsTheChunksThatAreAsTheyWere) {
    {
        PartialCopy copy = begin();
        give(copy, {1, 2, 3});
        ASSERT_TRUE(copy.remember(0, 1));
    }
    std::fstream damaged(folder() / "model.gguf", std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(static_cast<std::streamoff>(2 * kChunkBytes + 5));
    damaged.put('!');
    damaged.close();
    PartialCopy copy = begin();
    EXPECT_TRUE(copy.has(1));
    EXPECT_FALSE(copy.has(2));
    EXPECT_TRUE(copy.has(3));
    EXPECT_EQ(copy.remembered(), (std::pair<std::uint32_t, std::uint32_t>(0, 1)));
}

TEST_F(CopiesTest, ACopyOfAnotherManifestBeginsAnew) {
    PartialCopy copy = begin();
    give(copy, {1, 2, 3});
    std::vector<std::byte> other = shared_->manifest();
    other.back() ^= std::byte{1};
    const auto anew = PartialCopy::resume(folder(), other);
    ASSERT_TRUE(anew);
    EXPECT_EQ(anew->present(), 0U);
}

TEST_F(CopiesTest, ACopyGivesWhatItHasUnderTheSameManifest) {
    PartialCopy copy = begin();
    open(copy);
    give(copy, {2});
    const ModelSource source = open(copy);
    auto shared = SharedModel::open(copy.model(), source);
    ASSERT_TRUE(shared) << shared.error().detail;
    EXPECT_TRUE(*shared->hash_some());
    EXPECT_EQ(shared->digest(), shared_->digest());
    EXPECT_EQ(*shared->read(2), *shared_->read(2));
    EXPECT_FALSE(shared->read(4));
}

TEST_F(CopiesTest, AServerDoesNotGiveAChunkThatHasChanged) {
    std::fstream damaged(file(), std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(static_cast<std::streamoff>(2 * kChunkBytes + 5));
    damaged.put('!');
    damaged.close();
    EXPECT_TRUE(shared_->read(1));
    EXPECT_FALSE(shared_->read(2));
}

}  // namespace
}  // namespace stacking::models

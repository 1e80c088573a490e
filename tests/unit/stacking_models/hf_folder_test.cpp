#include "stacking/models/hf_folder.hpp"

#include "stacking/models/any_model.hpp"
#include "stacking/models/gguf_model.hpp"
#include "stages/files/safetensors.hpp"
#include "stages/files/safetensors_header.hpp"
#include "tests/unit/stacking_models/small_gguf.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace stacking::models {
namespace {

namespace fs = std::filesystem;
using stages::test::ScratchFolder;
using swarm::ErrorCode;

ModelSource small_model() {
    auto model = open_gguf(std::make_unique<MemoryBytes>(test::small_gguf().bytes()));
    EXPECT_TRUE(model.has_value());
    return std::move(*model);
}

void no_progress(std::uint64_t /*written*/, std::uint64_t /*all*/) {}

std::string read_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const fs::path& path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
}

/// Each test starts with the small model as a folder.
class HfFolderTest : public testing::Test {
 protected:
    void SetUp() override {
        const auto written = write_hf_folder(small_model(), folder(), no_progress);
        ASSERT_TRUE(written.has_value()) << written.error().detail;
    }

    [[nodiscard]] fs::path folder() const { return scratch.path() / "model"; }

    void replace_in_config(const std::string& from, const std::string& to) const {
        std::string text = read_file(folder() / "config.json");
        ASSERT_NE(text.find(from), std::string::npos);
        write_file(folder() / "config.json", text.replace(text.find(from), from.size(), to));
    }

    void expect_refused(ErrorCode code, const std::string& why) const {
        const auto model = open_hf_folder(folder());
        ASSERT_TRUE(model.has_error()) << why;
        EXPECT_EQ(model.error().code, code) << model.error().detail;
        EXPECT_NE(model.error().detail.find(why), std::string::npos) << model.error().detail;
    }

    /// Writes files with the given tensors, and an index that names the file of each tensor.
    void write_files(const std::map<std::string, std::vector<stages::NamedTensor>>& files) const {
        fs::remove(folder() / "model.safetensors");
        std::string index;
        for (const auto& [file, tensors] : files) {
            const auto bytes = stages::write_safetensors(tensors);
            write_file(
                folder() / file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}
            );
            for (const stages::NamedTensor& tensor : tensors) {
                index += (index.empty() ? "\"" : ", \"") + tensor.name + "\": \"" + file + "\"";
            }
        }
        write_index(index);
    }

    void write_index(const std::string& entries) const {
        write_file(
            folder() / "model.safetensors.index.json", "{\"weight_map\": {" + entries + "}}"
        );
    }

    ScratchFolder scratch;
};

TEST_F(HfFolderTest, HasEveryTensorOfTheModelItWasWrittenFrom) {
    const ModelSource original = small_model();
    const auto model = open_hf_folder(folder());
    ASSERT_TRUE(model.has_value()) << model.error().detail;
    EXPECT_EQ(model->tensors().size(), original.tensors().size());
    for (const auto& [name, tensor] : original.tensors()) {
        EXPECT_EQ(*model->read(name), *original.read(name)) << name;
    }
    EXPECT_EQ(model->architecture().model.rope_base, 100000.0);
    EXPECT_EQ(model->architecture().name, "model");
    EXPECT_TRUE(model->architecture().tied_embeddings);
    EXPECT_EQ(
        *model->read_stage(split(model->architecture(), 2)[1]),
        *original.read_stage(split(original.architecture(), 2)[1])
    );
    EXPECT_FALSE(fs::exists(folder() / "model.safetensors.draft"));
}

TEST_F(HfFolderTest, IsNotWrittenOverFiles) {
    const auto again = write_hf_folder(small_model(), folder(), no_progress);
    ASSERT_TRUE(again.has_error());
    EXPECT_EQ(again.error().code, ErrorCode::Usage);
    const auto below_a_file = folder() / "config.json" / "model";
    EXPECT_EQ(
        write_hf_folder(small_model(), below_a_file, no_progress).error().code,
        ErrorCode::StorageFailed
    );
}

TEST_F(HfFolderTest, TheContentOfAPathDecidesItsFormat) {
    EXPECT_TRUE(open_model(folder()).has_value());
    const auto bytes = test::small_gguf().bytes();
    write_file(
        scratch.path() / "small.gguf", {reinterpret_cast<const char*>(bytes.data()), bytes.size()}
    );
    EXPECT_TRUE(open_model(scratch.path() / "small.gguf").has_value());
    EXPECT_EQ(open_model(folder() / "config.json").error().code, ErrorCode::Unsupported);
    EXPECT_EQ(open_model(scratch.path() / "nobody").error().code, ErrorCode::NotFound);
    EXPECT_EQ(open_model(scratch.path()).error().code, ErrorCode::NotFound);
}

TEST_F(HfFolderTest, ReadsFilesThatAnIndexNames) {
    const std::string whole = read_file(folder() / "model.safetensors");
    const auto parsed = stages::Safetensors::parse(std::as_bytes(std::span(whole)));
    ASSERT_TRUE(parsed.has_value()) << parsed.error().detail;
    std::map<std::string, std::vector<stages::NamedTensor>> files;
    for (const auto& [name, tensor] : parsed->tensors()) {
        const bool second = name.find("layers.1.") != std::string::npos;
        files[second ? "model-00002-of-00002.safetensors" : "model-00001-of-00002.safetensors"]
            .push_back(tensor);
    }
    write_files(files);
    const auto model = open_hf_folder(folder());
    ASSERT_TRUE(model.has_value()) << model.error().detail;
    const ModelSource original = small_model();
    for (const auto& [name, tensor] : original.tensors()) {
        EXPECT_EQ(*model->read(name), *original.read(name)) << name;
    }
    write_index(R"("model.norm.weight": "model-00002-of-00002.safetensors")");
    expect_refused(ErrorCode::Malformed, "model.norm.weight is not in model-00002");
    fs::remove(folder() / "model-00002-of-00002.safetensors");
    expect_refused(ErrorCode::NotFound, "model-00002-of-00002.safetensors");
    for (const char* const bad :
         {R"("a": "../config.json")", R"("a": "")", R"("a": 7)", R"("a": "x\u001b[2J")"}) {
        write_index(bad);
        expect_refused(ErrorCode::Malformed, "names no file beside it");
    }
}

TEST_F(HfFolderTest, ReadsHalfPrecision) {
    const std::string path = (folder() / "model.safetensors").string();
    const std::string whole = read_file(path);
    std::uint64_t length = 0;
    std::memcpy(&length, whole.data(), 8);
    const auto entries = stages::parse_safetensors_header(
        std::string_view(whole).substr(8, length), whole.size() - 8 - length
    );
    std::vector<stages::SafetensorsEntry> halved = *entries;
    std::string values;
    for (stages::SafetensorsEntry& entry : halved) {
        const bool bf16 = entry.shape.size() == 2;
        for (std::uint64_t at = entry.begin; at < entry.end; at += 4) {
            // BF16 takes the upper half of the float; F16 is 1.0 everywhere.
            values += bf16 ? whole.substr(8 + length + at + 2, 2) : std::string("\x00\x3c", 2);
        }
        entry.dtype = bf16 ? "BF16" : "F16";
        entry.begin /= 2;
        entry.end /= 2;
    }
    write_file(path, stages::make_safetensors_header(halved, "pt") + values);
    const auto model = open_hf_folder(folder());
    ASSERT_TRUE(model.has_value()) << model.error().detail;
    EXPECT_EQ(*model->read("head.norm"), std::vector<float>(8, 1.0F));
    const std::vector<float> embedding = *model->read("embed.weight");
    for (std::size_t i = 0; i < embedding.size(); ++i) {
        EXPECT_EQ(embedding[i], static_cast<float>(i));  // bf16 is exact below 2^8
    }
}

TEST_F(HfFolderTest, EndTokensOfTheGenerationConfigReplaceThoseOfTheConfig) {
    const auto end_tokens = [&](const char* generation) {
        write_file(folder() / "generation_config.json", generation);
        const auto model = open_hf_folder(folder());
        EXPECT_TRUE(model.has_value()) << model.error().detail;
        return model->architecture().end_tokens;
    };
    EXPECT_EQ(
        end_tokens(R"({"eos_token_id": [3, 5], "temperature": 0.6})"),
        (std::vector<std::uint32_t>{3, 5})
    );
    EXPECT_EQ(end_tokens(R"({"eos_token_id": null})"), std::vector<std::uint32_t>{2});
    write_file(folder() / "generation_config.json", R"({"eos_token_id": "x"})");
    expect_refused(ErrorCode::Malformed, "generation_config.json: eos_token_id");
    write_file(folder() / "generation_config.json", "{");
    expect_refused(ErrorCode::Malformed, "generation_config.json: ");
}

TEST_F(HfFolderTest, AHeadThatDiffersFromTheEmbeddingCounts) {
    const std::string whole = read_file(folder() / "model.safetensors");
    const auto parsed = stages::Safetensors::parse(std::as_bytes(std::span(whole)));
    ASSERT_TRUE(parsed.has_value()) << parsed.error().detail;
    const stages::NamedTensor& embedding = *parsed->find("model.embed_tokens.weight");
    std::vector<float> head(embedding.values.begin(), embedding.values.end());
    const auto open_with_head = [&] {
        std::vector<stages::NamedTensor> tensors{{"lm_head.weight", embedding.shape, head}};
        for (const auto& [name, tensor] : parsed->tensors()) {
            tensors.push_back(tensor);
        }
        write_files({{"all.safetensors", tensors}});
        auto model = open_hf_folder(folder());
        EXPECT_TRUE(model.has_value()) << model.error().detail;
        return model;
    };
    EXPECT_TRUE(open_with_head()->architecture().tied_embeddings);
    head.back() = -1;
    const auto model = open_with_head();
    EXPECT_FALSE(model->architecture().tied_embeddings);
    EXPECT_EQ(*model->read("head.weight"), head);
}

TEST_F(HfFolderTest, TheFileOfAllTensorsCountsMoreThanAnIndex) {
    write_index(R"("a": "nobody.safetensors")");
    EXPECT_TRUE(open_hf_folder(folder()).has_value());
}

TEST_F(HfFolderTest, NamesAPointerOfGitLfs) {
    write_file(
        folder() / "model.safetensors",
        "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 269060552\n"
    );
    expect_refused(ErrorCode::Mismatch, "pointer of Git LFS");
}

TEST_F(HfFolderTest, RefusesEveryTruncation) {
    const fs::path path = folder() / "model.safetensors";
    for (std::uint64_t size = fs::file_size(path); size > 0;) {
        size -= std::min<std::uint64_t>(size, size > 3000 ? 97 : 7);
        fs::resize_file(path, size);
        ASSERT_TRUE(open_hf_folder(folder()).has_error()) << size;
    }
}

TEST_F(HfFolderTest, ErrorsQuoteNamesWithoutTheirControlCharacters) {
    const stages::SafetensorsEntry entry{"a\x1b[2Jb", "F32", {3}, 0, 4};
    write_file(
        folder() / "model.safetensors", stages::make_safetensors_header({&entry, 1}, "") + "four"
    );
    expect_refused(ErrorCode::Malformed, "a?[2Jb");
}

TEST_F(HfFolderTest, RefusesTensorsThatDoNotFitItsConfiguration) {
    replace_in_config("\"num_hidden_layers\":2", "\"num_hidden_layers\":1");
    expect_refused(ErrorCode::Unsupported, "model.layers.1.input_layernorm.weight is no part");
    replace_in_config("\"num_hidden_layers\":1", "\"num_hidden_layers\":3");
    expect_refused(
        ErrorCode::Malformed, "there is no tensor model.layers.2.self_attn.k_proj.weight"
    );
    replace_in_config("\"num_hidden_layers\":3", "\"num_hidden_layers\":1000000000");
    expect_refused(ErrorCode::Unsupported, "1000000000 as layers");
    replace_in_config("\"num_hidden_layers\":1000000000", "\"num_hidden_layers\":2");
    replace_in_config("\"tie_word_embeddings\":true", "\"tie_word_embeddings\":false");
    expect_refused(
        ErrorCode::Malformed, "no tensor lm_head.weight, and tie_word_embeddings of config.json"
    );
}

}  // namespace
}  // namespace stacking::models

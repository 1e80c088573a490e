// Tokenizers of real models, from GGUF files that hold nothing else, against the ids that the
// models' own tokenizers give for 46 texts. llama.cpp keeps both beside its source, which is in the
// package llama-cpp-python; ./swarm.sh test --long fetches it.
#include "stacking/models/byte_source.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "tests/golden/model_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

namespace swarm::golden {
namespace {

namespace tokenizers = stacking::tokenizers;
using Ids = std::vector<std::uint32_t>;

constexpr std::size_t kBytesMax = 1U << 20;
constexpr std::string_view kBetween = "\n__ggml_vocab_test__\n";

std::filesystem::path file(const std::string& name, const char* ending) {
    return cache_folder() / "vocabularies" / ("ggml-vocab-" + name + ending);
}

std::string read(const std::filesystem::path& path) {
    auto text = stacking::models::read_text(path, kBytesMax);
    EXPECT_TRUE(text) << text.error().detail;
    return text ? std::move(*text) : std::string();
}

std::vector<std::string> texts_of(const std::string& name) {
    std::string all = read(file(name, ".gguf.inp"));
    std::vector<std::string> texts;
    for (std::size_t end = all.find(kBetween); end != std::string::npos; end = all.find(kBetween)) {
        texts.push_back(all.substr(0, end));
        all.erase(0, end + kBetween.size());
    }
    return texts;
}

std::vector<Ids> ids_of(const std::string& name) {
    std::istringstream lines(read(file(name, ".gguf.out")));
    std::vector<Ids> all;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream numbers(line);
        Ids ids;
        for (std::uint32_t id = 0; numbers >> id;) {
            ids.push_back(id);
        }
        all.push_back(ids);
    }
    return all;
}

class Vocabularies : public testing::TestWithParam<const char*> {};

TEST_P(Vocabularies, GiveTheIdsOfTheModelsAndTheTextBack) {
    const std::string name = GetParam();
    const auto tokenizer = tokenizers::open_tokenizer(file(name, ".gguf"));
    ASSERT_TRUE(tokenizer) << tokenizer.error().detail;
    const auto texts = texts_of(name);
    const auto expected = ids_of(name);
    ASSERT_GT(texts.size(), 40U);
    ASSERT_GE(expected.size(), texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto ids = tokenizer->encode(texts[i], tokenizers::SpecialTokens::AsText);
        ASSERT_TRUE(ids) << ids.error().detail;
        EXPECT_EQ(*ids, expected[i]) << texts[i];
        EXPECT_EQ(*tokenizer->decode_whole(*ids), texts[i]);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Known,
    Vocabularies,
    testing::Values(
        "llama-bpe",
        "llama-spm",
        "phi-3",
        "qwen2",
        "gpt-2",
        "starcoder",
        "refact",
        "command-r",
        "mpt",
        "falcon",
        "deepseek-llm",
        "deepseek-coder"
    ),
    [](const auto& param) {
        std::string name = param.param;
        std::erase(name, '-');
        return name;
    }
);

}  // namespace
}  // namespace swarm::golden

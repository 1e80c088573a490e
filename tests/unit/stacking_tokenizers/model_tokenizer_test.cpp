#include "stacking/tokenizers/model_tokenizer.hpp"

#include "stacking/tokenizers/gguf_vocabulary.hpp"
#include "stacking/tokenizers/sentence_piece_file.hpp"
#include "tests/unit/stacking_models/gguf_builder.hpp"
#include "tests/unit/stacking_tokenizers/small_sentence_piece.hpp"
#include "tests/unit/stacking_tokenizers/small_vocabulary.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace stacking::tokenizers {
namespace {

using models::test::GgufBuilder;
using stages::test::ScratchFolder;
using swarm::ErrorCode;

struct Changes {
    std::string pre = "smollm";
    std::string model = "gpt2";
    std::int32_t first_type = 1;
    bool begin_token_added = false;
    std::size_t types_missing = 0;
};

GgufBuilder small_gguf(const Changes& changes = {}) {
    const Vocabulary vocabulary = test::small_vocabulary();
    std::vector<std::int32_t> types(vocabulary.tokens.size() - changes.types_missing, 1);
    for (const std::uint32_t id : vocabulary.special_tokens) {
        if (id < types.size()) {
            types[id] = 3;
        }
    }
    types.front() = changes.first_type;
    std::vector<std::string> merges;
    for (const auto& [left, right] : vocabulary.merges) {
        merges.push_back(left + " " + right);
    }
    GgufBuilder file;
    file.text("tokenizer.ggml.model", changes.model)
        .text("tokenizer.ggml.pre", changes.pre)
        .key(
            "tokenizer.ggml.add_bos_token",
            models::test::Gguf::Bool,
            static_cast<std::uint8_t>(changes.begin_token_added ? 1 : 0)
        )
        .texts("tokenizer.ggml.tokens", vocabulary.tokens)
        .numbers("tokenizer.ggml.token_type", types)
        .texts("tokenizer.ggml.merges", merges)
        .text("tokenizer.chat_template", "{{ messages }}");
    return file;
}

swarm::Result<Vocabulary> read(const GgufBuilder& file) {
    const auto header = models::read_gguf_header(models::MemoryBytes(file.bytes()));
    EXPECT_TRUE(header.has_value()) << header.error().detail;
    return read_gguf_vocabulary(*header);
}

TEST(GgufVocabulary, IsTheFilesTokensMergesAndSpecialTokens) {
    const auto vocabulary = read(small_gguf());
    ASSERT_TRUE(vocabulary.has_value()) << vocabulary.error().detail;
    EXPECT_EQ(vocabulary->tokens, test::small_vocabulary().tokens);
    EXPECT_EQ(vocabulary->merges, test::small_vocabulary().merges);
    EXPECT_EQ(vocabulary->special_tokens, test::small_vocabulary().special_tokens);
}

TEST(GgufVocabulary, RefusesOtherTokenizers) {
    EXPECT_EQ(read(small_gguf({.pre = "nobody"})).error().code, ErrorCode::Unsupported);
    EXPECT_EQ(read(small_gguf({.model = "bert"})).error().code, ErrorCode::Unsupported);
    EXPECT_EQ(
        read(small_gguf({.model = "llama"})).error().code, ErrorCode::Malformed
    );  // no scores
    EXPECT_EQ(read(small_gguf({.first_type = 7})).error().code, ErrorCode::Unsupported);
    EXPECT_EQ(read(small_gguf({.begin_token_added = true})).error().code, ErrorCode::Malformed);
    EXPECT_EQ(read(small_gguf({.types_missing = 1})).error().code, ErrorCode::Malformed);
    EXPECT_EQ(read(GgufBuilder()).error().code, ErrorCode::Unsupported);
}

TEST(ModelTokenizer, IsTheSameInAFolderAsInTheFileItCameFrom) {
    const ScratchFolder folder;
    const auto path = folder.path() / "small.gguf";
    const auto bytes = small_gguf().bytes();
    std::ofstream(path, std::ios::binary)
        .write(
            reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())
        );
    const auto original = open_tokenizer(path);
    ASSERT_TRUE(original.has_value()) << original.error().detail;
    EXPECT_EQ(original->chat_template(), "{{ messages }}");
    const auto copy_folder = folder.path() / "copy";
    std::filesystem::create_directory(copy_folder);
    ASSERT_TRUE(write_tokenizer(*original, 262, copy_folder).has_value());
    for (const bool template_in_config : {false, true}) {
        if (template_in_config) {
            std::filesystem::remove(copy_folder / "chat_template.jinja");
        }
        const auto copy = open_tokenizer(copy_folder);
        ASSERT_TRUE(copy.has_value()) << copy.error().detail;
        EXPECT_EQ(copy->bpe()->vocabulary().tokens, original->bpe()->vocabulary().tokens);
        EXPECT_EQ(copy->chat_template(), original->chat_template());
    }
    const auto config = copy_folder / "tokenizer_config.json";
    std::ofstream(config) << R"({"chat_template": [{"name": "tools", "template": "a"},
        {"name": "default", "template": "b"}]})";
    EXPECT_EQ(open_tokenizer(copy_folder)->chat_template(), "b");
    std::ofstream(config) << R"({"chat_template": [{"name": "tools", "template": "a"}]})";
    EXPECT_EQ(open_tokenizer(copy_folder).error().code, ErrorCode::Unsupported);
    EXPECT_EQ(
        write_tokenizer(*original, 262, path / "below-a-file").error().code,
        ErrorCode::StorageFailed
    );
    EXPECT_EQ(open_tokenizer(folder.path()).error().code, ErrorCode::NotFound);
    EXPECT_EQ(open_tokenizer(folder.path() / "nobody").error().code, ErrorCode::NotFound);
}

using Ids = std::vector<std::uint32_t>;

TEST(ModelTokenizer, ReadsTheTokenizerModelOfAStranger) {
    const ScratchFolder folder;
    std::ofstream(folder.path() / "tokenizer.model", std::ios::binary)
        << test::small_sentence_piece();
    const auto tokenizer = open_tokenizer(folder.path());
    ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().detail;
    EXPECT_EQ(*tokenizer->encode("ab a", SpecialTokens::AsText), (Ids{3, 6, 7}));
    EXPECT_EQ(*tokenizer->encode_beginning("ab a", SpecialTokens::AsText), (Ids{1, 3, 6, 7}));
    EXPECT_EQ(*tokenizer->encode_beginning("<s>a", SpecialTokens::Recognised), (Ids{1, 7}));
    EXPECT_EQ(*tokenizer->decode_whole(Ids{3, 6, 7}), "ab a");
    EXPECT_EQ(*tokenizer->decode(Ids{7}), " a");
    EXPECT_EQ(tokenizer->encode_counted("acc", SpecialTokens::AsText)->lost, 2U);
    EXPECT_EQ(*tokenizer->encode("cca", SpecialTokens::AsText), (Ids{3, 0, 4}));  // one unknown

    const auto copy = folder.path() / "copy";
    std::filesystem::create_directory(copy);
    ASSERT_TRUE(write_tokenizer(*tokenizer, 2, copy).has_value());
    const auto read = open_tokenizer(copy);
    ASSERT_TRUE(read.has_value()) << read.error().detail;
    EXPECT_EQ(*read->encode_beginning("ab a", SpecialTokens::AsText), (Ids{1, 3, 6, 7}));

    std::ofstream(folder.path() / "tokenizer_config.json") << R"({"add_bos_token": false})";
    EXPECT_TRUE(open_tokenizer(folder.path())->bpe()->begin_tokens().empty());
}

TEST(SentencePieceFile, WhatChangesTextsInOtherWaysIsRefusedByItsName) {
    const std::pair<test::PieceFileChanges, const char*> cases[] = {
        {{.model = 1}, "not BPE"},
        {{.characters = "table"}, "replaces characters"},
        {{.folds_spaces = true}, "folds spaces"}};
    for (const auto& [changes, why] : cases) {
        const auto read = read_sentence_piece_file(test::small_sentence_piece(changes), {});
        ASSERT_TRUE(read.has_error()) << why;
        EXPECT_EQ(read.error().code, ErrorCode::Unsupported);
        EXPECT_NE(read.error().detail.find(why), std::string::npos) << read.error().detail;
    }
    const std::string whole = test::small_sentence_piece();
    EXPECT_TRUE(has_control_tokens(whole));
    EXPECT_FALSE(has_control_tokens("garbage"));
    EXPECT_EQ(
        read_sentence_piece_file(whole.substr(0, whole.size() - 1), {}).error().code,
        ErrorCode::Malformed
    );
}

TEST(ModelTokenizer, ATokenizerOfAnotherModelIsRefused) {
    auto bpe = ByteBpe::make(test::small_vocabulary());
    ASSERT_TRUE(bpe.has_value());
    const ModelTokenizer tokenizer(std::move(*bpe));
    EXPECT_TRUE(check_fits(tokenizer, tokenizer.size()).has_value());
    EXPECT_TRUE(check_fits(tokenizer, tokenizer.size() + 64).has_value());
    EXPECT_EQ(check_fits(tokenizer, tokenizer.size() - 1).error().code, ErrorCode::Mismatch);
}

TEST(ModelTokenizer, TokensThatATemplateMayNameComeFromTheConfiguration) {
    const ScratchFolder folder;
    auto bpe = ByteBpe::make(test::small_vocabulary());
    ASSERT_TRUE(bpe.has_value());
    const ModelTokenizer written(std::move(*bpe));
    ASSERT_TRUE(write_tokenizer(written, 262, folder.path()).has_value());
    std::ofstream(folder.path() / "tokenizer_config.json")
        << R"({"bos_token": {"content": "<s>"}, "eos_token": "<s>>", "pad_token": null})";
    const auto opened = open_tokenizer(folder.path());
    ASSERT_TRUE(opened.has_value()) << opened.error().detail;
    const std::vector<NamedText> wanted{{"bos_token", "<s>"}, {"eos_token", "<s>>"}};
    EXPECT_EQ(opened->chat_variables(), wanted);
}

}  // namespace
}  // namespace stacking::tokenizers

#include "stacking/tokenizers/tokenizer_json.hpp"

#include "stacking/tokenizers/byte_bpe.hpp"
#include "tests/unit/stacking_tokenizers/small_vocabulary.hpp"

#include <gtest/gtest.h>

namespace stacking::tokenizers {
namespace {

using swarm::ErrorCode;

std::string small_json() {
    return make_tokenizer_json(test::small_vocabulary());
}

std::string replaced(const std::string& from, const std::string& to) {
    std::string text = small_json();
    EXPECT_NE(text.find(from), std::string::npos) << from;
    return text.replace(text.find(from), from.size(), to);
}

void expect_refused(const std::string& text, ErrorCode code, const std::string& why) {
    const auto vocabulary = parse_tokenizer_json(text);
    ASSERT_TRUE(vocabulary.has_error()) << why;
    EXPECT_EQ(vocabulary.error().code, code) << vocabulary.error().detail;
    EXPECT_NE(vocabulary.error().detail.find(why), std::string::npos) << vocabulary.error().detail;
}

TEST(TokenizerJson, ReadsBackWhatItWrote) {
    const Vocabulary written = test::small_vocabulary();
    const auto read = parse_tokenizer_json(small_json());
    ASSERT_TRUE(read.has_value()) << read.error().detail;
    EXPECT_EQ(read->tokens, written.tokens);
    EXPECT_EQ(read->merges, written.merges);
    EXPECT_EQ(read->special_tokens, written.special_tokens);
}

TEST(TokenizerJson, ReadsMergesAsPairsToo) {
    const auto read = parse_tokenizer_json(replaced("\"ab c\"", "[\"ab\", \"c\"]"));
    ASSERT_TRUE(read.has_value()) << read.error().detail;
    EXPECT_EQ(read->merges, test::small_vocabulary().merges);
}

TEST(TokenizerJson, AddedTokensNeedNotBeInTheModelsVocabulary) {
    const auto read = parse_tokenizer_json(replaced(",\"<s>\":262,\"<s>>\":263", ""));
    ASSERT_TRUE(read.has_value()) << read.error().detail;
    EXPECT_EQ(read->tokens, test::small_vocabulary().tokens);
}

TEST(TokenizerJson, RefusesOtherChainsByName) {
    const std::pair<const char*, const char*> changes[] = {
        {"\"normalizer\":null", "\"normalizer\":{\"type\":\"NFC\"}"},
        {"\"truncation\":null", "\"truncation\":{}"},
        {"\"individual_digits\":true", "\"individual_digits\":false"},
        {"\"add_prefix_space\":false", "\"add_prefix_space\":true"},
        {"\"use_regex\":true", "\"use_regex\":false"},
        {"\"type\":\"Sequence\"", "\"type\":\"Split\""},
        {"\"post_processor\":null", "\"post_processor\":{\"type\":\"TemplateProcessing\"}"},
        {"\"type\":\"BPE\"", "\"type\":\"Unigram\""},
        {"\"dropout\":null", "\"dropout\":0.1"},
        {"\"unk_token\":null", "\"unk_token\":\"<s>\""},
        {"\"byte_fallback\":false", "\"byte_fallback\":true"},
        {"\"ignore_merges\":false", "\"ignore_merges\":true"},
        {"\"end_of_word_suffix\":null", "\"end_of_word_suffix\":\"</w>\""},
    };
    for (const auto& [from, to] : changes) {
        expect_refused(replaced(from, to), ErrorCode::Unsupported, "is not that of byte-level BPE");
    }
    expect_refused(replaced("\"lstrip\":false", "\"lstrip\":true"), ErrorCode::Unsupported, "262");
    expect_refused(
        replaced("\"special\":true", "\"special\":false"), ErrorCode::Unsupported, "262"
    );
}

TEST(TokenizerJson, AFileWithoutDigitsIsRefused) {
    expect_refused(
        replaced("{\"type\":\"Digits\",\"individual_digits\":true},", ""),
        ErrorCode::Unsupported,
        "pre_tokenizer"
    );
}

TEST(TokenizerJson, RefusesVocabulariesWithHoles) {
    expect_refused(replaced("\"ab\":256", "\"ab\":300"), ErrorCode::Malformed, "out of range");
    expect_refused(replaced("\"ab\":256", "\"ab\":-1"), ErrorCode::Malformed, "out of range");
    expect_refused(replaced("\"ab\":256", "\"ab\":257"), ErrorCode::Malformed, "id 257");
    expect_refused(replaced("\"ab\":256", "\"\":256"), ErrorCode::Malformed, "id 256");
    expect_refused(
        replaced("\"ab\":256", "\"ab\":264"), ErrorCode::Malformed, "no token has id 256"
    );
    expect_refused(replaced("\"ab c\"", "\"abc\""), ErrorCode::Malformed, "a merge");
    expect_refused(replaced("\"ab c\"", "\"a b c\""), ErrorCode::Malformed, "a merge");
    expect_refused(replaced("\"ab c\"", "7"), ErrorCode::Malformed, "a merge");
}

TEST(TokenizerJson, RefusesOtherText) {
    for (const char* const text : {"", "[]", "{}", "{\"model\": 3}", "{\"model\": {"}) {
        expect_refused(text, ErrorCode::Malformed, "tokenizer.json");
    }
}

TEST(TokenizerJson, RefusesEveryTruncation) {
    const std::string whole = small_json();
    for (std::size_t size = 0; size < whole.size(); size += 11) {
        ASSERT_TRUE(parse_tokenizer_json(whole.substr(0, size)).has_error()) << size;
    }
}

TEST(SplitMerge, WantsTwoTokens) {
    EXPECT_EQ(split_merge("a b"), (std::pair<std::string, std::string>("a", "b")));
    for (const char* const text : {"", " ", "a", "a ", " b", "a  b", "a b c"}) {
        EXPECT_FALSE(split_merge(text).has_value()) << text;
    }
}

}  // namespace
}  // namespace stacking::tokenizers

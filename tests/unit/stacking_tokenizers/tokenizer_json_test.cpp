#include "stacking/tokenizers/tokenizer_json.hpp"

#include "stacking/tokenizers/bpe.hpp"
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
    auto vocabulary = parse_tokenizer_json(text);
    const auto made = vocabulary ? Bpe::make(std::move(*vocabulary)) : vocabulary.error();
    ASSERT_TRUE(made.has_error()) << why;
    EXPECT_EQ(made.error().code, code) << made.error().detail;
    EXPECT_NE(made.error().detail.find(why), std::string::npos) << made.error().detail;
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

TEST(TokenizerJson, RefusesWhatIsNotKnownByItsName) {
    struct Change {
        const char* from;
        const char* to;
        const char* why;
    };

    const Change changes[] = {
        {"\"normalizer\":null", "\"normalizer\":{\"type\":\"NFKC\"}", "normalizer NFKC"},
        {"\"truncation\":null", "\"truncation\":{}", "truncation"},
        {"\"type\":\"Sequence\"", "\"type\":\"Bert\"", "pre_tokenizer Bert"},
        {"\"post_processor\":null",
         "\"post_processor\":{\"type\":\"BertProcessing\"}",
         "post_processor BertProcessing"},
        {"\"type\":\"BPE\"", "\"type\":\"Unigram\"", "model Unigram"},
        {"\"type\":\"BPE\"", "\"type\":\"WordPiece\"", "model WordPiece"},
        {"\"dropout\":null", "\"dropout\":0.1", "model.dropout"},
        {"\"end_of_word_suffix\":null",
         "\"end_of_word_suffix\":\"</w>\"",
         "model.end_of_word_suffix"},
    };
    for (const Change& change : changes) {
        expect_refused(replaced(change.from, change.to), ErrorCode::Unsupported, change.why);
    }
    expect_refused(
        replaced("\"unk_token\":null", "\"unk_token\":\"nobody\""),
        ErrorCode::Malformed,
        "unk_token"
    );
    expect_refused(
        replaced("\"lstrip\":false", "\"lstrip\":3"), ErrorCode::Malformed, "an added token"
    );
}

TEST(TokenizerJson, WritesEverySwitchAndPartAsItWasRead) {
    Vocabulary vocabulary = test::small_vocabulary();
    vocabulary.ignore_merges = true;
    vocabulary.unknowns_merge = true;
    vocabulary.unknown = 7;
    vocabulary.added_tokens = {
        {.id = 261, .takes_left_space = true},
        {.id = 262, .takes_right_space = true, .normalized = true},
        {.id = 260, .whole_word = true}};
    vocabulary.parts.normalizer = R"({"type":"NFC"})";
    vocabulary.parts.post_processor = make_template(vocabulary, {262}, {263});
    const std::string written = make_tokenizer_json(vocabulary);
    const auto read = parse_tokenizer_json(written);
    ASSERT_TRUE(read.has_value()) << read.error().detail;
    EXPECT_EQ(make_tokenizer_json(*read), written);
    EXPECT_TRUE(read->ignore_merges);
    EXPECT_EQ(read->added_tokens.size(), 3U);
    const auto bpe = Bpe::make(*read);
    ASSERT_TRUE(bpe.has_value()) << bpe.error().detail;
    EXPECT_EQ(bpe->begin_tokens().front(), 262U);
    EXPECT_EQ(bpe->end_tokens().front(), 263U);
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

#include "stacking/tokenizers/merges/bpe_trainer.hpp"

#include "stacking/tokenizers/bpe.hpp"
#include "stacking/tokenizers/tokenizer_file.hpp"
#include "stacking/tokenizers/tokenizer_json.hpp"
#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <set>

namespace stacking::tokenizers {
namespace {

using swarm::ErrorCode;
using swarm::Rng;

constexpr std::uint32_t kBase = 257;  // the end token and the bytes

std::string drawn_words(std::size_t words) {
    Rng rng(5, 0);
    std::string text;
    for (std::size_t word = 0; word < words; ++word) {
        for (std::uint64_t letter = 1 + rng.below(7); letter > 0; --letter) {
            text += static_cast<char>('a' + rng.below(26) * rng.below(26) / 26);
        }
        text += word % 9 == 8 ? "\n" : " ";
    }
    return text;
}

Vocabulary trained(std::string_view text, std::uint32_t tokens) {
    auto made = train_bpe(text, tokens);
    EXPECT_TRUE(made) << made.error().detail;
    return *std::move(made);
}

TEST(BpeTrainer, MergesTheMostFrequentPairFirst) {
    // "low" x 5, "lower" x 2, "newest" x 6, "widest" x 3: the example of Sennrich et al., where
    // each word stands on a line of its own.
    std::string text;
    for (const auto& [word, count] :
         {std::pair("low", 5), {"lower", 2}, {"newest", 6}, {"widest", 3}}) {
        for (int i = 0; i < count; ++i) {
            text += std::string(word) + "\n";
        }
    }
    const Vocabulary made = trained(text, kBase + 6);
    const std::vector<std::string> tokens(made.tokens.begin() + kBase, made.tokens.end());
    // es and est come 9 times each, lo and low 7 times, ew and new 6 times.
    EXPECT_EQ(tokens, (std::vector<std::string>{"es", "est", "lo", "low", "ew", "new"}));
    EXPECT_EQ(made.merges.at(1), std::pair(std::string("es"), std::string("t")));
    EXPECT_EQ(made.tokens[0], kTrainedEndToken);
    EXPECT_EQ(made.special_tokens, std::vector<std::uint32_t>{0});
}

TEST(BpeTrainer, HasExactlyTheTokensThatWereAskedForAndGivesEveryTextBack) {
    const std::string text = drawn_words(4000);
    const Vocabulary made = trained(text, 600);
    EXPECT_EQ(made.tokens.size(), 600U);
    EXPECT_EQ(std::set<std::string>(made.tokens.begin(), made.tokens.end()).size(), 600U);
    const auto bpe = Bpe::make(made);
    ASSERT_TRUE(bpe) << bpe.error().detail;
    for (const std::string& one :
         {text,
          std::string("na\xC3\xAFve \xE6\xBC\xA2 \xF0\x9F\x98\x80\r\n\t<|endoftext|> 1234")}) {
        const auto ids = bpe->encode(one, SpecialTokens::AsText);
        ASSERT_TRUE(ids);
        EXPECT_EQ(*bpe->decode(*ids), one);
    }
    EXPECT_LT(bpe->encode(text, SpecialTokens::AsText)->size(), text.size() * 2 / 3);
    EXPECT_EQ(bpe->find_special(kTrainedEndToken), 0U);
}

TEST(BpeTrainer, GivesTheSameFileForTheSameText) {
    const std::string text = drawn_words(2000);
    const std::string file = make_tokenizer_json(trained(text, 500));
    EXPECT_EQ(make_tokenizer_json(trained(text, 500)), file);
    const auto read = parse_tokenizer_file(file);
    ASSERT_TRUE(read) << read.error().detail;
    EXPECT_EQ(make_tokenizer_file(*read), file);
}

TEST(BpeTrainer, LongWordsCostNoTimeAndMakeNoTokens) {
    const std::string text = std::string(3U << 20U, 'a') + "\n" + drawn_words(500);
    const Vocabulary made = trained(text, 300);
    for (const std::string& token : made.tokens) {
        EXPECT_LE(token.size(), 2 * kTrainedWordBytesMax);
        EXPECT_EQ(token.find("aaaa"), std::string::npos);
    }
}

TEST(BpeTrainer, SaysWhatATextCannotGive) {
    EXPECT_EQ(train_bpe("one two", 300).error().code, ErrorCode::Mismatch);
    EXPECT_EQ(train_bpe("", 300).error().code, ErrorCode::Mismatch);
    EXPECT_EQ(train_bpe("caf\xE9 caf\xE9", 258).error().code, ErrorCode::Malformed);
    EXPECT_EQ(train_bpe("one", 256).error().code, ErrorCode::TooLarge);
    EXPECT_EQ(train_bpe("one", kTrainedTokensMax + 1).error().code, ErrorCode::TooLarge);
}

}  // namespace
}  // namespace stacking::tokenizers

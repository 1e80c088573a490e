#include "stacking/tokenizers/byte_bpe.hpp"

#include "tests/unit/stacking_tokenizers/small_vocabulary.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace stacking::tokenizers {
namespace {

using swarm::ErrorCode;
using Ids = std::vector<std::uint32_t>;

ByteBpe small() {
    auto bpe = ByteBpe::make(test::small_vocabulary());
    EXPECT_TRUE(bpe.has_value()) << bpe.error().detail;
    return std::move(*bpe);
}

/// Returns the texts of the tokens, with "|" between them.
std::string tokens(const ByteBpe& bpe, std::string_view text, SpecialTokens special) {
    const auto ids = bpe.encode(text, special);
    EXPECT_TRUE(ids.has_value()) << ids.error().detail;
    std::string joined;
    for (const std::uint32_t id : *ids) {
        joined += (joined.empty() ? "" : "|") + *bpe.decode(std::span(&id, 1));
    }
    return joined;
}

std::string plain(const ByteBpe& bpe, std::string_view text) {
    return tokens(bpe, text, SpecialTokens::AsText);
}

TEST(ByteBpe, MergesByRankThenFromTheLeft) {
    const ByteBpe bpe = small();
    EXPECT_EQ(plain(bpe, "abc"), "abc");  // ab, then ab + c
    EXPECT_EQ(plain(bpe, "bbc"), "b|bc");
    EXPECT_EQ(plain(bpe, "aab"), "a|ab");  // rank 0 before rank 3
    EXPECT_EQ(plain(bpe, "aaaaa"), "aaaa|a");
    EXPECT_EQ(plain(bpe, "aaa"), "aa|a");
    EXPECT_EQ(plain(bpe, "ab ab"), "ab| |ab");
    EXPECT_EQ(plain(bpe, "y x"), "y| x");
}

TEST(ByteBpe, SpecialTokensAreRecognisedOnlyWhereAllowed) {
    const ByteBpe bpe = small();
    EXPECT_EQ(*bpe.encode("<s>", SpecialTokens::Recognised), Ids{262});
    EXPECT_EQ(bpe.encode("<s>", SpecialTokens::AsText)->size(), 3U);
    EXPECT_EQ(*bpe.encode("<s>>", SpecialTokens::Recognised), Ids{263});  // the longest name wins
    EXPECT_EQ(tokens(bpe, "ab<s>ab<<s>>", SpecialTokens::Recognised), "ab|<s>|ab|<|<s>>");
    EXPECT_TRUE(bpe.is_special(262));
    EXPECT_FALSE(bpe.is_special(261));
    EXPECT_FALSE(bpe.is_special(99999));
    EXPECT_EQ(bpe.find_special("<s>"), 262U);
    EXPECT_FALSE(bpe.find_special("a").has_value());
}

TEST(ByteBpe, GivesEveryTextBack) {
    const ByteBpe bpe = small();
    std::string text;
    for (std::uint32_t byte = 0; byte < 0x80; ++byte) {
        text += static_cast<char>(byte);
    }
    text += "é€😀 aaaabcab";
    EXPECT_EQ(*bpe.decode(*bpe.encode(text, SpecialTokens::AsText)), text);
}

TEST(ByteBpe, AByteWithoutATokenIsDroppedBeforeTheMerges) {
    Vocabulary vocabulary = test::small_vocabulary();
    vocabulary.tokens['!'] = letter_of('!') + letter_of('!');  // a single "!" has no token
    const auto bpe = ByteBpe::make(std::move(vocabulary));
    ASSERT_TRUE(bpe.has_value()) << bpe.error().detail;
    EXPECT_TRUE(bpe->encode("!", SpecialTokens::AsText)->empty());
    EXPECT_EQ(plain(*bpe, "ab!ab"), "ab|ab");
}

TEST(ByteBpe, RefusesTextThatIsNoUtf8) {
    const ByteBpe bpe = small();
    const auto ids = bpe.encode("abc\xff", SpecialTokens::AsText);
    ASSERT_TRUE(ids.has_error());
    EXPECT_EQ(ids.error().code, ErrorCode::Malformed);
    EXPECT_NE(ids.error().detail.find("byte 3"), std::string::npos);
    const std::string large(ByteBpe::kTextBytesMax + 1, ' ');
    EXPECT_EQ(bpe.encode(large, SpecialTokens::AsText).error().code, ErrorCode::TooLarge);
}

TEST(ByteBpe, RefusesUnknownIds) {
    const Ids ids{97, 264};
    EXPECT_EQ(small().decode(ids).error().code, ErrorCode::Mismatch);
}

TEST(ByteBpe, ALongWordTakesNoQuadraticTime) {
    const std::string text(1'000'000, 'a');
    const auto ids = small().encode(text, SpecialTokens::AsText);
    ASSERT_TRUE(ids.has_value());
    EXPECT_EQ(ids->size(), 250'000U);
}

TEST(ByteBpe, RefusesVocabulariesThatContradictThemselves) {
    const auto refuse = [](const std::function<void(Vocabulary&)>& spoil, const char* why) {
        Vocabulary vocabulary = test::small_vocabulary();
        spoil(vocabulary);
        const auto bpe = ByteBpe::make(std::move(vocabulary));
        ASSERT_TRUE(bpe.has_error()) << why;
        EXPECT_EQ(bpe.error().code, ErrorCode::Malformed) << why;
        EXPECT_NE(bpe.error().detail.find(why), std::string::npos) << bpe.error().detail;
    };
    refuse([](Vocabulary& v) { v.tokens[7] = v.tokens[8]; }, "twin");
    refuse([](Vocabulary& v) { v.tokens[7] = "\n"; }, "byte alphabet");
    refuse([](Vocabulary& v) { v.tokens[7] = ""; }, "byte alphabet");
    refuse([](Vocabulary& v) { v.merges.emplace_back("x", "nobody"); }, "merge 6");
    refuse([](Vocabulary& v) { v.merges.emplace_back("x", "y"); }, "merge 6");
    refuse([](Vocabulary& v) { v.merges.push_back(v.merges[1]); }, "there twice");
    refuse([](Vocabulary& v) { v.special_tokens.push_back(256); }, "of special tokens");
    refuse([](Vocabulary& v) { v.special_tokens.push_back(264); }, "special token 264");
    refuse([](Vocabulary& v) { v.special_tokens.push_back(262); }, "special token 262");
    refuse([](Vocabulary& v) { v.tokens[262] = ""; }, "special token 262");
    Vocabulary large = test::small_vocabulary();
    large.special_tokens.resize(kSpecialTokensMax + 1);
    EXPECT_EQ(ByteBpe::make(std::move(large)).error().code, ErrorCode::TooLarge);
}

}  // namespace
}  // namespace stacking::tokenizers

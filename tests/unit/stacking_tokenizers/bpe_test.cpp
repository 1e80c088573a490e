#include "stacking/tokenizers/bpe.hpp"

#include "tests/unit/stacking_tokenizers/small_vocabulary.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace stacking::tokenizers {
namespace {

using swarm::ErrorCode;
using Ids = std::vector<std::uint32_t>;

Bpe small() {
    auto bpe = Bpe::make(test::small_vocabulary());
    EXPECT_TRUE(bpe.has_value()) << bpe.error().detail;
    return std::move(*bpe);
}

/// Returns the texts of the tokens, with "|" between them.
std::string tokens(const Bpe& bpe, std::string_view text, SpecialTokens special) {
    const auto ids = bpe.encode(text, special);
    EXPECT_TRUE(ids.has_value()) << ids.error().detail;
    std::string joined;
    for (const std::uint32_t id : *ids) {
        joined += (joined.empty() ? "" : "|") + *bpe.decode(std::span(&id, 1));
    }
    return joined;
}

std::string plain(const Bpe& bpe, std::string_view text) {
    return tokens(bpe, text, SpecialTokens::AsText);
}

TEST(Bpe, MergesByRankThenFromTheLeft) {
    const Bpe bpe = small();
    EXPECT_EQ(plain(bpe, "abc"), "abc");  // ab, then ab + c
    EXPECT_EQ(plain(bpe, "bbc"), "b|bc");
    EXPECT_EQ(plain(bpe, "aab"), "a|ab");  // rank 0 before rank 3
    EXPECT_EQ(plain(bpe, "aaaaa"), "aaaa|a");
    EXPECT_EQ(plain(bpe, "aaa"), "aa|a");
    EXPECT_EQ(plain(bpe, "ab ab"), "ab| |ab");
    EXPECT_EQ(plain(bpe, "y x"), "y| x");
}

TEST(Bpe, SpecialTokensAreRecognisedOnlyWhereAllowed) {
    const Bpe bpe = small();
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

TEST(Bpe, GivesEveryTextBack) {
    const Bpe bpe = small();
    std::string text;
    for (std::uint32_t byte = 0; byte < 0x80; ++byte) {
        text += static_cast<char>(byte);
    }
    text += "é€😀 aaaabcab";
    EXPECT_EQ(*bpe.decode(*bpe.encode(text, SpecialTokens::AsText)), text);
}

TEST(Bpe, AByteWithoutATokenIsDroppedBeforeTheMerges) {
    Vocabulary vocabulary = test::small_vocabulary();
    vocabulary.tokens['!'] = letter_of('!') + letter_of('!');  // a single "!" has no token
    const auto bpe = Bpe::make(std::move(vocabulary));
    ASSERT_TRUE(bpe.has_value()) << bpe.error().detail;
    EXPECT_TRUE(bpe->encode("!", SpecialTokens::AsText)->empty());
    EXPECT_EQ(plain(*bpe, "ab!ab"), "ab|ab");
}

TEST(Bpe, RefusesTextThatIsNoUtf8) {
    const Bpe bpe = small();
    const auto ids = bpe.encode("abc\xff", SpecialTokens::AsText);
    ASSERT_TRUE(ids.has_error());
    EXPECT_EQ(ids.error().code, ErrorCode::Malformed);
    EXPECT_NE(ids.error().detail.find("byte 3"), std::string::npos);
    const std::string large(Bpe::kTextBytesMax + 1, ' ');
    EXPECT_EQ(bpe.encode(large, SpecialTokens::AsText).error().code, ErrorCode::TooLarge);
}

TEST(Bpe, RefusesUnknownIds) {
    const Ids ids{97, 264};
    EXPECT_EQ(small().decode(ids).error().code, ErrorCode::Mismatch);
}

TEST(Bpe, ALongWordTakesNoQuadraticTime) {
    const std::string text(1'000'000, 'a');
    const auto ids = small().encode(text, SpecialTokens::AsText);
    ASSERT_TRUE(ids.has_value());
    EXPECT_EQ(ids->size(), 250'000U);
}

TEST(Bpe, NoTextMergesIntoASpecialToken) {
    Vocabulary vocabulary = test::small_vocabulary();
    vocabulary.special_tokens.push_back(256);  // "ab", which a merge would make
    const auto bpe = Bpe::make(std::move(vocabulary));
    ASSERT_TRUE(bpe.has_value()) << bpe.error().detail;
    EXPECT_EQ(plain(*bpe, "abc"), "a|bc");
    EXPECT_EQ(*bpe->encode("ab", SpecialTokens::Recognised), Ids{256});
}

TEST(Bpe, WordsAndTokensReachFromOnePartIntoTheNext) {
    const Bpe bpe = small();
    const TextPart parts[] = {
        {"<s>a", SpecialTokens::Recognised},
        {"b<s>", SpecialTokens::AsText},
        {"<s>", SpecialTokens::Recognised}};
    const auto ids = bpe.encode(parts);
    ASSERT_TRUE(ids.has_value()) << ids.error().detail;
    EXPECT_EQ(*ids, (Ids{262, 256, '<', 's', '>', 262}));
}

TEST(Bpe, AddedTokensTakeTheirSurroundings) {
    Vocabulary vocabulary = test::small_vocabulary();
    const auto add = [&](const char* text, AddedToken token) {
        token.id = static_cast<std::uint32_t>(vocabulary.tokens.size());
        vocabulary.tokens.emplace_back(text);
        vocabulary.added_tokens.push_back(token);
        return token.id;
    };
    const std::uint32_t left = add("[L]", {.takes_left_space = true});
    const std::uint32_t right = add("[R]", {.takes_right_space = true});
    const std::uint32_t word = add("word", {.whole_word = true});
    const auto bpe = Bpe::make(std::move(vocabulary));
    ASSERT_TRUE(bpe.has_value()) << bpe.error().detail;
    const auto encode = [&](const char* text) { return *bpe->encode(text, SpecialTokens::AsText); };
    EXPECT_EQ(encode("a \u3000[L] b"), (Ids{'a', left, ' ', 'b'}));
    EXPECT_EQ(encode("a [R] \nb"), (Ids{'a', ' ', right, 'b'}));
    EXPECT_EQ(encode("word"), Ids{word});
    EXPECT_EQ(encode("(word)"), (Ids{'(', word, ')'}));
    EXPECT_EQ(encode("words").size(), 5U);
    EXPECT_EQ(encode("\u00e9word").size(), 6U);
}

TEST(Bpe, CountsWhatHasNoToken) {
    Vocabulary vocabulary = test::small_vocabulary();
    vocabulary.tokens['!'] = letter_of('!') + letter_of('!');
    const auto bpe = Bpe::make(std::move(vocabulary));
    ASSERT_TRUE(bpe.has_value()) << bpe.error().detail;
    const auto counted = bpe->encode_counted("a!b!", SpecialTokens::AsText);
    EXPECT_EQ(counted->lost, 2U);
    EXPECT_EQ(counted->ids, *bpe->encode("a!b!", SpecialTokens::AsText));
    EXPECT_EQ(bpe->encode_counted("ab", SpecialTokens::AsText)->lost, 0U);
}

TEST(Bpe, RefusesVocabulariesThatContradictThemselves) {
    const auto refuse = [](const std::function<void(Vocabulary&)>& spoil, const char* why) {
        Vocabulary vocabulary = test::small_vocabulary();
        spoil(vocabulary);
        const auto bpe = Bpe::make(std::move(vocabulary));
        ASSERT_TRUE(bpe.has_error()) << why;
        EXPECT_EQ(bpe.error().code, ErrorCode::Malformed) << why;
        EXPECT_NE(bpe.error().detail.find(why), std::string::npos) << bpe.error().detail;
    };
    refuse([](Vocabulary& v) { v.tokens[7] = v.tokens[8]; }, "twin");
    refuse([](Vocabulary& v) { v.tokens[7] = ""; }, "is empty");
    refuse([](Vocabulary& v) { v.merges.emplace_back("x", "nobody"); }, "merge 6");
    refuse([](Vocabulary& v) { v.merges.emplace_back("x", "y"); }, "merge 6");
    refuse([](Vocabulary& v) { v.merges.push_back(v.merges[1]); }, "there twice");
    refuse([](Vocabulary& v) { v.special_tokens.push_back(264); }, "special token 264");
    refuse([](Vocabulary& v) { v.special_tokens.push_back(262); }, "special token 262");
    refuse([](Vocabulary& v) { v.tokens[262] = ""; }, "special token 262");
    refuse(
        [](Vocabulary& v) {
            v.tokens.emplace_back("\xE2");  // the first byte of three
            v.added_tokens.push_back({264});
        },
        "added token 264 is no UTF-8"
    );
}

void expect_too_large(Vocabulary vocabulary, const char* why) {
    const auto bpe = Bpe::make(std::move(vocabulary));
    ASSERT_TRUE(bpe.has_error()) << why;
    EXPECT_EQ(bpe.error().code, ErrorCode::TooLarge) << bpe.error().detail;
    EXPECT_NE(bpe.error().detail.find(why), std::string::npos) << bpe.error().detail;
}

TEST(Bpe, RefusesVocabulariesThatAreTooLarge) {
    Vocabulary many = test::small_vocabulary();
    many.special_tokens.resize(kAddedTokensMax + 1);
    expect_too_large(std::move(many), "added tokens");
    Vocabulary wide = test::small_vocabulary();
    wide.tokens.emplace_back(kTokenBytesMax + 1, 'a');
    expect_too_large(std::move(wide), "a token of more than 4096 bytes");
}

/// Makes every "a" of a text 64 of them, `steps` times.
std::string growing(const std::string& fields, std::size_t steps) {
    const std::string step = R"({"type": "Replace", "pattern": {"String": "a"}, "content": ")" +
                             std::string(64, 'a') + "\"}";
    std::string list;
    for (std::size_t i = 0; i < steps; ++i) {
        list += step + ", ";
    }
    return R"({"type": "Sequence", ")" + fields + "\": [" + list;
}

TEST(Bpe, ADecoderThatGrowsATokenForEverIsRefused) {
    Vocabulary vocabulary = test::small_vocabulary();
    vocabulary.parts.pre_tokenizer = kNoPart;
    vocabulary.parts.decoder = growing("decoders", 6) + R"({"type": "Fuse"}]})";
    expect_too_large(std::move(vocabulary), "a token of more than 4096 bytes");
}

TEST(Bpe, ANormalizerMayNotGrowATextSectionBySection) {
    Vocabulary vocabulary = test::small_vocabulary();
    vocabulary.tokens.emplace_back("<t>");
    vocabulary.added_tokens.push_back({264});
    const std::string steps = growing("normalizers", 4);
    vocabulary.parts.normalizer = steps.substr(0, steps.size() - 2) + "]}";
    const auto bpe = Bpe::make(std::move(vocabulary));
    ASSERT_TRUE(bpe.has_value()) << bpe.error().detail;
    std::string text;
    for (int i = 0; i < 8; ++i) {
        text += "a<t>";
    }
    const auto ids = bpe->encode(text, SpecialTokens::AsText);
    ASSERT_TRUE(ids.has_error());
    EXPECT_EQ(ids.error().code, ErrorCode::TooLarge) << ids.error().detail;
}

TEST(Bpe, SpacesThatTokensTakeCostNoQuadraticTime) {
    Vocabulary vocabulary = test::small_vocabulary();
    vocabulary.tokens.emplace_back("  ");
    vocabulary.added_tokens.push_back(
        {.id = 264, .takes_left_space = true, .takes_right_space = true}
    );
    const auto bpe = Bpe::make(std::move(vocabulary));
    ASSERT_TRUE(bpe.has_value()) << bpe.error().detail;
    const std::string spaces(4'000'000, ' ');  // 10^13 steps if each token looked at all of them
    EXPECT_EQ(bpe->encode(spaces, SpecialTokens::AsText)->size(), 2'000'000U);
}

}  // namespace
}  // namespace stacking::tokenizers

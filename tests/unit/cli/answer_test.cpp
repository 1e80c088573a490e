#include "swarm/cli/answer/answer.hpp"

#include "tests/unit/stacking_tokenizers/small_vocabulary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace swarm::cli {
namespace {

using stacking::TokenId;
using stacking::tokenizers::ByteBpe;
using stacking::tokenizers::ModelTokenizer;

constexpr std::uint32_t kVocabulary = 10;

/// A model in which t + 1 follows token t; at `spoiled_at` its logits are no numbers.
class Counting final : public stacking::composition::TextReader {
 public:
    [[nodiscard]] std::uint32_t vocabulary() const override { return kVocabulary; }

    [[nodiscard]] std::uint32_t context() const override { return positions; }

    Result<> begin(std::uint32_t tokens) override {
        reserved = tokens;
        filled = 0;
        return {};
    }

    Result<std::uint32_t> resume(std::uint32_t kept, std::uint32_t tokens) override {
        EXPECT_LE(kept, filled);
        reserved = tokens;
        filled = kept - std::min(kept, forgets);
        return filled;
    }

    Result<std::vector<float>> read(std::span<const TokenId> tokens, Wanted wanted) override {
        EXPECT_EQ(wanted, Wanted::AfterLast);
        filled += static_cast<std::uint32_t>(tokens.size());
        EXPECT_LE(filled, reserved);
        std::vector<float> logits(kVocabulary);
        logits[(tokens.back() + 1) % kVocabulary] = 2;
        if (filled == spoiled_at) {
            logits[3] = std::numeric_limits<float>::quiet_NaN();
        }
        return logits;
    }

    std::uint32_t positions = 8;
    std::uint32_t forgets = 0;  // tokens that resume() drops of those that it might keep
    std::uint32_t filled = 0;
    std::uint32_t reserved = 0;
    std::uint32_t spoiled_at = 0;
};

Result<Answer> answer_to(
    Counting& compute, const std::vector<TokenId>& prompt, const AnswerOptions& options
) {
    double clock = 0;
    return answer(
        compute, prompt, options, {[&] { return clock += 0.5; }, [](TokenId) { return true; }}
    );
}

TEST(Answer, EndsWhenNobodyWantsFurtherTokens) {
    Counting compute;
    const auto stop = [](TokenId) { return false; };
    const auto answered = answer(
        compute,
        {1, 2},
        {.tokens_max = 5, .end_tokens = {}, .sampler = {}},
        {[] { return 0.0; }, stop}
    );
    ASSERT_TRUE(answered.has_value()) << answered.error().detail;
    EXPECT_EQ(answered->ids.size(), 1U);
}

TEST(Answer, EndsBeforeAnEndToken) {
    Counting compute;
    const auto answered =
        answer_to(compute, {1, 2}, {.tokens_max = 5, .end_tokens = {9, 5}, .sampler = {}});
    ASSERT_TRUE(answered.has_value());
    EXPECT_EQ(answered->ids, (std::vector<TokenId>{3, 4}));
    EXPECT_EQ(answered->decoded, 2U);
    EXPECT_EQ(answered->prefill_s, 0.5);
    EXPECT_EQ(answered->decode_s, 0.5);
}

TEST(Answer, EndsAtTheNumberOfTokensAndAtTheContext) {
    Counting few;
    EXPECT_EQ(
        answer_to(few, {1}, {.tokens_max = 2, .end_tokens = {}, .sampler = {}})->ids.size(), 2U
    );
    EXPECT_EQ(few.filled, 2U) << "the last token need not be run";
    Counting many;
    EXPECT_EQ(
        answer_to(many, {1, 2, 3}, {.tokens_max = 50, .end_tokens = {}, .sampler = {}})->ids.size(),
        5U
    );
}

TEST(Answer, ReadsAgainOnlyWhatTheReaderDoesNotKeep) {
    for (const std::uint32_t forgets : {0U, 1U}) {
        Counting compute;
        compute.forgets = forgets;
        AnswerOptions options{.tokens_max = 2, .end_tokens = {}, .sampler = {}};
        const auto first = *answer_to(compute, {1, 2, 3}, options);
        EXPECT_EQ(first.kept, 0U);
        EXPECT_EQ(first.read, 4U) << "the last token was not run";
        const std::vector<TokenId> known{1, 2, 3, 4};
        options.read_before = known;
        const auto second = *answer_to(compute, {1, 2, 3, 7}, options);
        EXPECT_EQ(second.kept, 3U - forgets);
        EXPECT_EQ(second.ids, (std::vector<TokenId>{8, 9}));
        EXPECT_EQ(second.read, 5U);
    }
}

TEST(Answer, TheLastTokenOfAPromptIsReadInAnyCase) {
    Counting compute;
    AnswerOptions options{.tokens_max = 1, .end_tokens = {}, .sampler = {}};
    ASSERT_TRUE(answer_to(compute, {1, 2, 3}, options).has_value());
    const std::vector<TokenId> known{1, 2, 3};
    options.read_before = known;
    const auto again = *answer_to(compute, {1, 2}, options);
    EXPECT_EQ(again.kept, 1U);
    EXPECT_EQ(again.ids, (std::vector<TokenId>{3}));
}

TEST(Answer, ALongPromptIsGivenUpBetweenTwoPieces) {
    Counting compute;
    compute.positions = 2'000;
    std::vector<std::size_t> shown;
    const AnswerOptions options{.tokens_max = 5, .end_tokens = {}, .sampler = {}};
    const auto answered = answer(
        compute,
        std::vector<TokenId>(1'000, 1),
        options,
        {[] { return 0.0; },
         [](TokenId) { return true; },
         [&](std::size_t read) {
             shown.push_back(read);
             return shown.size() < 2;
         }}
    );
    ASSERT_TRUE(answered.has_value()) << answered.error().detail;
    EXPECT_TRUE(answered->ids.empty());
    EXPECT_EQ(answered->read, shown.back());
    EXPECT_EQ(answered->read, compute.filled);
    EXPECT_LT(compute.filled, 1'000U);
}

TEST(Answer, APromptThatFillsTheContextIsRefused) {
    Counting compute;
    const auto refused = answer_to(
        compute, std::vector<TokenId>(8), {.tokens_max = 1, .end_tokens = {}, .sampler = {}}
    );
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::TooLarge);
    EXPECT_EQ(refused.error().detail.find('\n'), std::string::npos);
}

TEST(Answer, APromptWithoutTokensIsRefused) {
    Counting compute;
    const auto refused = answer_to(compute, {}, {.tokens_max = 1, .end_tokens = {}, .sampler = {}});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::Mismatch);
}

TEST(Answer, EndsWithOneLineWhenLogitsAreNoNumbers) {
    for (const std::uint32_t at : {2U, 3U}) {
        Counting compute;
        compute.spoiled_at = at;
        const auto refused =
            answer_to(compute, {1, 2}, {.tokens_max = 5, .end_tokens = {}, .sampler = {}});
        ASSERT_FALSE(refused.has_value()) << at;
        EXPECT_EQ(refused.error().code, ErrorCode::NotFinite);
    }
}

TEST(Answer, IsAFunctionOfTheSeed) {
    const auto drawn = [](std::uint64_t seed) {
        Counting compute;
        const AnswerOptions options{
            .tokens_max = 7, .end_tokens = {}, .sampler = {.temperature = 2, .seed = seed}};
        return answer_to(compute, {1}, options)->ids;
    };
    EXPECT_EQ(drawn(1), drawn(1));
    EXPECT_NE(drawn(1), drawn(2));
}

/// A tokenizer without a token for byte 4.
ModelTokenizer tokenizer() {
    auto vocabulary = stacking::tokenizers::test::small_vocabulary();
    vocabulary.tokens[4] = "qq";
    auto bpe = ByteBpe::make(std::move(vocabulary));
    EXPECT_TRUE(bpe.has_value());
    return ModelTokenizer(std::move(*bpe));
}

TEST(EncodePrompt, TakesSpecialTokensInARawText) {
    const auto prompt = encode_prompt(tokenizer(), "<s>ab", PromptKind::Raw);
    ASSERT_TRUE(prompt.has_value());
    EXPECT_EQ(prompt->ids.size(), 2U);
    EXPECT_FALSE(prompt->lost_bytes);
}

TEST(EncodePrompt, SaysWhenBytesHaveNoToken) {
    EXPECT_TRUE(encode_prompt(tokenizer(), "a\x04z", PromptKind::Raw)->lost_bytes);
    for (const char* const empty : {"", "\x04"}) {
        const auto refused = encode_prompt(tokenizer(), empty, PromptKind::Raw);
        ASSERT_FALSE(refused.has_value());
        EXPECT_EQ(refused.error().code, ErrorCode::Mismatch);
    }
}

TEST(EncodePrompt, NamesTheRemedyWhenThereIsNoChatTemplate) {
    const auto refused = encode_prompt(tokenizer(), "ab", PromptKind::Chat);
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().detail.find("--raw"), std::string::npos);
}

TEST(RateOf, IsUnknownWhenNoTokenWasCounted) {
    EXPECT_EQ(rate_of(10, 2), 5);
    EXPECT_EQ(rate_of(0, 2), std::nullopt);
    EXPECT_EQ(rate_of(10, 0), std::nullopt);
}

}  // namespace
}  // namespace swarm::cli

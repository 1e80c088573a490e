#include "stacking/composition/token_scores.hpp"

#include "stacking/composition/log_probabilities.hpp"
#include "stacking/composition/losses.hpp"
#include "tests/unit/stacking_composition/scripted_reader.hpp"

#include <cmath>
#include <limits>
#include <numeric>

namespace stacking::composition {
namespace {

using swarm::ErrorCode;
using test::ScriptedReader;
using Table = std::vector<std::vector<float>>;

std::string named(std::size_t tokens, std::size_t before, WindowSizes sizes) {
    return std::to_string(tokens) + " tokens after " + std::to_string(before) + ", context " +
           std::to_string(sizes.context) + ", stride " + std::to_string(sizes.stride);
}

/// Fails unless each token is scored once, in order, with enough tokens before it.
void check_plan(std::size_t tokens, std::size_t before, WindowSizes sizes) {
    SCOPED_TRACE(named(tokens, before, sizes));
    WindowPlan plan(tokens, before, sizes);
    std::size_t expected = before > 0 ? 0 : 1;
    std::size_t windows = 0;
    while (const auto window = plan.next()) {
        ASSERT_EQ(window->scored, expected);
        ASSERT_LT(window->scored, window->end);
        ASSERT_LE(window->end, tokens);
        ASSERT_LE(before + window->end - window->begin, sizes.context);
        ASSERT_GE(before + window->scored - window->begin, 1U) << "nothing to predict it from";
        ASSERT_EQ(window->begin, windows * sizes.stride);
        if (windows > 0) {
            const std::size_t known = before + window->scored - window->begin;
            ASSERT_GE(known, sizes.context - sizes.stride);
            if (2 * sizes.stride <= sizes.context) {
                ASSERT_GE(known, sizes.stride);
            }
        }
        expected = window->end;
        ++windows;
    }
    EXPECT_EQ(expected, std::max<std::size_t>(tokens, before > 0 ? 0 : 1));
}

TEST(WindowPlan, ScoresEachTokenOnceWithEnoughBeforeIt) {
    for (const std::size_t before : {0U, 1U, 2U}) {
        for (std::uint32_t context = 2; context <= 9; ++context) {
            for (std::uint32_t stride = 1; stride <= stride_max(context, before); ++stride) {
                for (std::size_t tokens = 0; tokens <= 30; ++tokens) {
                    check_plan(tokens, before, {context, stride});
                }
            }
        }
    }
    check_plan(1'000'003, 1, {1024, 512});
    check_plan(1'000'003, 0, {1024, 1023});
}

TEST(WindowPlan, KnowsTheLargestStride) {
    EXPECT_EQ(stride_max(8, 0), 7U);
    EXPECT_EQ(stride_max(8, 1), 7U);
    EXPECT_EQ(stride_max(8, 3), 5U);
    EXPECT_EQ(stride_max(1, 0), 0U);
    EXPECT_EQ(stride_max(3, 3), 0U);
}

TEST(WindowPlan, AWindowIsAsWideAsTheContextAllows) {
    WindowPlan plan(10, 0, {4, 2});
    EXPECT_EQ(plan.next(), (TextWindow{0, 1, 4}));
    EXPECT_EQ(plan.next(), (TextWindow{2, 4, 6}));
    EXPECT_EQ(plan.next(), (TextWindow{4, 6, 8}));
    EXPECT_EQ(plan.next(), (TextWindow{6, 8, 10}));
    EXPECT_EQ(plan.next(), std::nullopt);
}

/// A token is the likelier the more tokens its window has before it, so a score tells how many.
class PlaceReader final : public TextReader {
 public:
    [[nodiscard]] std::uint32_t vocabulary() const override { return 2; }

    [[nodiscard]] std::uint32_t context() const override { return 64; }

    swarm::Result<> begin(std::uint32_t tokens) override {
        reserved_ = tokens;
        read_ = 0;
        return {};
    }

    swarm::Result<std::vector<float>> read(std::span<const TokenId> tokens, Wanted wanted)
        override {
        widest = std::max(widest, tokens.size());
        std::vector<float> scores;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            ++read_;
            EXPECT_LT(read_, reserved_) << "the last token of a window is not read";
            if (wanted == Wanted::AfterEach || i + 1 == tokens.size()) {
                scores.push_back(static_cast<float>(read_));
                scores.push_back(0);
            }
        }
        return scores;
    }

    std::size_t widest = 0;

 private:
    std::uint32_t reserved_ = 0;
    std::uint32_t read_ = 0;
};

double score_behind(std::size_t known) {
    return -std::log1p(std::exp(-static_cast<double>(known)));
}

TEST(TokenScores, TellWhatStandsBeforeEachTokenHoweverManyAreReadAtOnce) {
    const std::vector<TokenId> text(11, 0);
    const std::vector<TokenId> before{0};
    for (const std::size_t rows : {1U, 2U, 3U, 128U}) {
        for (const bool has_before : {false, true}) {
            PlaceReader reader;
            std::vector<double> scores;
            const auto take = [&](std::span<const double> more) {
                scores.insert(scores.end(), more.begin(), more.end());
                return true;
            };
            const auto first = std::span(before).first(has_before ? 1 : 0);
            const auto ended = score_text(reader, {first, text, {6, 2}, rows}, take);
            ASSERT_TRUE(ended.has_value());
            EXPECT_TRUE(*ended);
            EXPECT_LE(reader.widest, rows);
            const std::vector<std::size_t> known =
                has_before ? std::vector<std::size_t>{1, 2, 3, 4, 5, 4, 5, 4, 5, 4, 5}
                           : std::vector<std::size_t>{1, 2, 3, 4, 5, 4, 5, 4, 5, 4};
            ASSERT_EQ(scores.size(), known.size());
            for (std::size_t i = 0; i < known.size(); ++i) {
                EXPECT_NEAR(scores[i], score_behind(known[i]), 1e-12) << i;
            }
        }
    }
}

TEST(TokenScores, EndWhenNobodyWantsFurtherOnes) {
    PlaceReader reader;
    const std::vector<TokenId> text(11, 0);
    int calls = 0;
    const auto take = [&](std::span<const double> /*more*/) { return ++calls < 3; };
    const auto ended = score_text(reader, {{}, text, {6, 2}, 1}, take);
    ASSERT_TRUE(ended.has_value());
    EXPECT_FALSE(*ended);
    EXPECT_EQ(calls, 3);
}

TEST(TokenScores, OfOneWindowAreTheLoss) {
    const Table table{{0.5F, 1.5F, -1}, {2, 0, 0.25F}, {0, -3, 1}};
    ScriptedReader reader(table);
    std::vector<TokenId> text(40);
    for (std::size_t i = 0; i < text.size(); ++i) {
        text[i] = static_cast<TokenId>(i * i % 3);
    }
    double nats = 0;
    const auto take = [&](std::span<const double> more) {
        nats = std::accumulate(more.begin(), more.end(), nats, std::minus<>());
        return true;
    };
    ASSERT_TRUE(score_text(reader, {{}, text, {64, 32}, 16}, take).has_value());
    const auto loss = measure_loss(reader, text, 64);
    ASSERT_TRUE(loss.has_value());
    EXPECT_NEAR(nats / 39, loss->nats_per_token, 1e-6);
}

TEST(TokenScores, ATextThatCannotBeScoredIsRefused) {
    const auto take = [](std::span<const double> /*more*/) { return true; };
    ScriptedReader reader(Table{{0, 0}, {0, 0}});
    const std::vector<TokenId> foreign{0, 1, 2};
    const auto unknown = score_text(reader, {{}, foreign, {8, 4}, 8}, take);
    ASSERT_FALSE(unknown.has_value());
    EXPECT_EQ(unknown.error().code, ErrorCode::Mismatch);
    ScriptedReader spoiled(Table{{0, 0}, {0, std::numeric_limits<float>::infinity()}});
    const std::vector<TokenId> text{0, 1, 0};
    const auto spoilt = score_text(spoiled, {{}, text, {8, 4}, 8}, take);
    ASSERT_FALSE(spoilt.has_value());
    EXPECT_EQ(spoilt.error().code, ErrorCode::NotFinite);
}

TEST(TokenScores, HoldFewRowsOfALargeVocabulary) {
    EXPECT_EQ(rows_at_once(256), 128U);
    EXPECT_EQ(rows_at_once(1U << 18), 32U);
    EXPECT_EQ(rows_at_once(1U << 30), 8U);
}

TEST(LogProbability, IsThatOfNormalisedLogits) {
    std::vector<float> logits{1, -2, 0.5F};
    const auto one = log_probability(logits, 2);
    ASSERT_TRUE(normalise(logits));
    ASSERT_TRUE(one.has_value());
    EXPECT_NEAR(*one, logits[2], 1e-6);
    logits[0] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(log_probability(logits, 2), std::nullopt);
    EXPECT_FALSE(normalise(logits));
}

}  // namespace
}  // namespace stacking::composition

#include "swarm/cli/eval/exit_figures.hpp"

#include "swarm/cli/eval/eval_report.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace swarm::cli {
namespace {

constexpr std::size_t kExits = 2;

/// Logits of two tokens with these probabilities of the first one, row by row.
std::vector<float> rows_of(const std::vector<double>& first) {
    std::vector<float> logits;
    for (const double probability : first) {
        logits.push_back(static_cast<float>(std::log(probability)));
        logits.push_back(static_cast<float>(std::log(1 - probability)));
    }
    return logits;
}

TEST(ExitFigures, TheFirstHeadThatIsSureEnoughAnswers) {
    const std::vector<std::vector<float>> logits{
        rows_of({0.9, 0.6, 0.1}), rows_of({0.5, 0.8, 0.6})};
    const std::vector<double> at_end{-1, -2, -3};
    const std::vector<stacking::TokenId> targets{0, 0, 0};
    const std::vector<double> thresholds{0, 0.75, 0.95};
    auto figures = no_exits(thresholds, kExits);
    add_exits(figures, {logits, at_end, targets});
    EXPECT_EQ(figures[0].tokens, (std::vector<std::uint64_t>{3, 0, 0}));
    EXPECT_NEAR(figures[0].nats, -std::log(0.9 * 0.6 * 0.1), 1e-6);
    // The third token is sure at the first exit, of the wrong one.
    EXPECT_EQ(figures[1].tokens, (std::vector<std::uint64_t>{2, 1, 0}));
    EXPECT_NEAR(figures[1].nats, -std::log(0.9 * 0.8 * 0.1), 1e-6);
    EXPECT_EQ(figures[2].tokens, (std::vector<std::uint64_t>{0, 0, 3}));
    EXPECT_EQ(figures[2].nats, 6);
    EXPECT_EQ(figures[2].loss(), 2);
    EXPECT_NEAR(figures[1].share(1), 1.0 / 3, 1e-12);
}

TEST(ExitFigures, AHeadWithoutNumbersEndsNoPath) {
    const std::vector<std::vector<float>> logits{
        {std::numeric_limits<float>::quiet_NaN(), 1}, rows_of({0.9})};
    const std::vector<double> at_end{-1};
    const std::vector<stacking::TokenId> targets{0};
    const std::vector<double> thresholds{0};
    auto figures = no_exits(thresholds, kExits);
    add_exits(figures, {logits, at_end, targets});
    EXPECT_EQ(figures[0].tokens, (std::vector<std::uint64_t>{0, 1, 0}));
}

TEST(ExitFigures, OfSeveralTextsAddUp) {
    std::vector<TextFigures> texts(2);
    texts[0].exits = {{0.5, {3, 1}, 4}};
    texts[1].exits = {{0.5, {0, 4}, 12}};
    const TextFigures all = sum_of(texts);
    ASSERT_EQ(all.exits.size(), 1U);
    EXPECT_EQ(all.exits[0].tokens, (std::vector<std::uint64_t>{3, 5}));
    EXPECT_EQ(all.exits[0].loss(), 2);
}

TEST(ExitFigures, ATableSaysWhereTokensAreAnsweredAndWhatThatCosts) {
    TextFigures text{.name = "a", .tokens = 8, .nats = 8};
    EXPECT_EQ(exit_table({}, std::nullopt, text), "");
    text.exits = {{0.9, {2, 6}, 8.08}};
    EXPECT_EQ(
        exit_table({6}, std::nullopt, text),
        "   exit at     behind 6         at end  nats/token     change\n"
        "       0.9       25.0 %         75.0 %      1.0100     +1.00 %\n"
    );
}

TEST(ExitFigures, AmongThoseThatKeepToTheCostMostLeaveEarly) {
    const std::vector<ExitFigures> tried{
        {0.1, {6, 2}, 8.4}, {0.2, {4, 4}, 8.08}, {0.3, {4, 4}, 8}, {0.9, {1, 7}, 7.9}};
    EXPECT_EQ(most_early(tried, 1, 0.01).value().threshold, 0.2);
    EXPECT_EQ(most_early(tried, 1, 0.05).value().threshold, 0.1);
    EXPECT_EQ(most_early(tried, 1, 0.05).value().early(), 0.75);
    EXPECT_FALSE(most_early(tried, 0.9, 0.01).has_value());
    EXPECT_FALSE(most_early(tried, std::numeric_limits<double>::quiet_NaN(), 1).has_value());
    EXPECT_FALSE(most_early({}, 1, 1).has_value());
}

TEST(ExitFigures, ThoseThatWereTriedServeAnyCost) {
    const auto thresholds = tried_thresholds();
    ASSERT_EQ(thresholds.size(), 99U);
    EXPECT_EQ(thresholds.front(), 0.01);
    EXPECT_EQ(thresholds.back(), 0.99);
}

TEST(ExitFigures, ATableNamesTheProbabilityThatKeepsToTheCost) {
    TextFigures text{.name = "a", .tokens = 8, .nats = 8};
    text.tried = {{0.1, {6, 2}, 8.4}, {0.2, {4, 4}, 8.08}};
    EXPECT_EQ(
        exit_table({6}, 1, text),
        "   exit at     behind 6         at end  nats/token     change\n"
        "       0.2       50.0 %         50.0 %      1.0100     +1.00 %\n"
        "--exit 0.2 lets most tokens leave early for at most +1 %: 50.0 %\n"
    );
    EXPECT_EQ(
        exit_table({6}, 0, text),
        "   exit at     behind 6         at end  nats/token     change\n"
        "no --exit of 0.01 to 0.99 keeps the change to +0 %\n"
    );
}

}  // namespace
}  // namespace swarm::cli

#include "stacking/composition/losses.hpp"

#include "stacking/composition/ensemble.hpp"
#include "tests/unit/stacking_composition/scripted_reader.hpp"

#include <cmath>
#include <limits>

namespace stacking::composition {
namespace {

using swarm::ErrorCode;
using test::ScriptedReader;
using Table = std::vector<std::vector<float>>;

/// After any token, token 1 comes with probability 3/4 and token 0 with 1/4.
Table table() {
    const auto log = [](double p) { return static_cast<float>(std::log(p)); };
    return {{log(0.25), log(0.75)}, {log(0.25), log(0.75)}};
}

TEST(Losses, AreTheMeanOverThePredictedTokens) {
    ScriptedReader reader(table());
    const std::vector<TokenId> text{0, 1, 0, 1};
    const auto loss = measure_loss(reader, text, 64);
    ASSERT_TRUE(loss.has_value());
    EXPECT_EQ(loss->tokens, 3U);
    EXPECT_NEAR(loss->nats_per_token, -(2 * std::log(0.75) + std::log(0.25)) / 3, 1e-6);
}

TEST(Losses, EachWindowStartsEmptyAndItsFirstTokenIsGiven) {
    ScriptedReader reader(table());
    const std::vector<TokenId> text{0, 1, 0, 1, 0};
    const auto loss = measure_loss(reader, text, 2);
    ASSERT_TRUE(loss.has_value());
    EXPECT_EQ(loss->tokens, 2U);  // 1 after 0, twice; the last token is alone in its window
    EXPECT_NEAR(loss->nats_per_token, -std::log(0.75), 1e-6);
}

TEST(Losses, AnEnsemblesRegretToItsBestMemberIsBounded) {
    const auto log = [](double p) { return static_cast<float>(std::log(p)); };
    const Table other{{log(0.9), log(0.1)}, {log(0.9), log(0.1)}};
    std::vector<TokenId> text;
    for (int i = 0; i < 60; ++i) {
        text.push_back(i % 4 == 0 ? 0 : 1);
    }
    ScriptedReader alone(table());
    const double best = measure_loss(alone, text, 60)->nats_per_token;
    Ensemble::Members members;
    members.push_back(std::make_unique<ScriptedReader>(table()));
    members.push_back(std::make_unique<ScriptedReader>(other));
    const auto stack = *Ensemble::make(std::move(members), {1, 1});
    const double both = measure_loss(*stack, text, 60)->nats_per_token;
    EXPECT_LE(both, best + std::log(2.0) / 59 + 1e-6);
}

TEST(Losses, TextsThatCannotBeMeasuredAreRefused) {
    ScriptedReader reader(table(), 8);
    const std::vector<TokenId> text{0, 1, 0};
    EXPECT_EQ(measure_loss(reader, text, 9).error().code, ErrorCode::TooLarge);
    EXPECT_EQ(measure_loss(reader, text, 1).error().code, ErrorCode::TooLarge);
    EXPECT_EQ(measure_loss(reader, std::span(text).first(1), 8).error().code, ErrorCode::Mismatch);
    const std::vector<TokenId> foreign{0, 2};
    EXPECT_EQ(measure_loss(reader, foreign, 8).error().code, ErrorCode::Mismatch);
    Table spoiled = table();
    spoiled[1][1] = std::numeric_limits<float>::infinity();
    ScriptedReader bad(spoiled);
    EXPECT_EQ(measure_loss(bad, text, 8).error().code, ErrorCode::NotFinite);
}

}  // namespace
}  // namespace stacking::composition

#include "stacking/composition/ensemble.hpp"

#include "tests/unit/stacking_composition/scripted_reader.hpp"

#include <cmath>
#include <limits>
#include <numeric>

namespace stacking::composition {
namespace {

using swarm::ErrorCode;
using test::ScriptedReader;
using Table = std::vector<std::vector<float>>;

/// A table for three tokens: each is followed by itself with probability `sure`, and by each other
/// token with half the rest.
Table repeats(double sure) {
    Table table;
    for (std::size_t token = 0; token < 3; ++token) {
        std::vector<float> row(3, static_cast<float>(std::log((1 - sure) / 2)));
        row[token] = static_cast<float>(std::log(sure));
        table.push_back(std::move(row));
    }
    return table;
}

std::unique_ptr<Ensemble> ensemble(std::vector<Table> tables, std::vector<double> priors) {
    Ensemble::Members members;
    for (Table& table : tables) {
        members.push_back(std::make_unique<ScriptedReader>(std::move(table)));
    }
    auto made = Ensemble::make(std::move(members), std::move(priors));
    EXPECT_TRUE(made.has_value());
    return made ? std::move(*made) : nullptr;
}

std::vector<float> after(TextReader& reader, const std::vector<TokenId>& tokens) {
    EXPECT_TRUE(reader.begin(static_cast<std::uint32_t>(tokens.size())).has_value());
    return *reader.read(tokens, TextReader::Wanted::AfterLast);
}

TEST(Ensemble, EqualMembersGiveOneMembersDistribution) {
    const auto stack = ensemble({repeats(0.7), repeats(0.7), repeats(0.7)}, {1, 5, 2});
    const auto mixed = after(*stack, {0, 1, 1, 2});
    EXPECT_NEAR(mixed[2], std::log(0.7), 1e-6);
    EXPECT_NEAR(mixed[0], std::log(0.15), 1e-6);
    const auto weights = stack->weights();
    EXPECT_NEAR(weights[1], 5.0 / 8, 1e-12);  // equal predictions leave the prior
}

TEST(Ensemble, BeginsWithItsPriors) {
    const auto stack = ensemble({repeats(0.9), repeats(0.3)}, {3, 1});
    const auto mixed = after(*stack, {0});
    EXPECT_NEAR(mixed[0], std::log(0.75 * 0.9 + 0.25 * 0.3), 1e-6);
    const double sum = std::accumulate(mixed.begin(), mixed.end(), 0.0, [](double all, float one) {
        return all + std::exp(one);
    });
    EXPECT_NEAR(sum, 1, 1e-6);
}

TEST(Ensemble, WeighsMembersByTheirPredictions) {
    const auto stack = ensemble({repeats(0.9), repeats(0.3)}, {1, 1});
    const auto mixed = after(*stack, {0, 0, 0});
    const double first = 0.9 * 0.9;
    const double second = 0.3 * 0.3;
    const double weight = first / (first + second);
    EXPECT_NEAR(stack->weights()[0], weight, 1e-6);
    EXPECT_NEAR(mixed[0], std::log(weight * 0.9 + (1 - weight) * 0.3), 1e-6);
    static_cast<void>(after(*stack, {0}));  // a new text
    EXPECT_NEAR(stack->weights()[0], 0.5, 1e-12);
}

TEST(Ensemble, GivesTheSameScoresHoweverATextIsCut) {
    const std::vector<TokenId> text{0, 1, 1, 2, 0, 0, 2, 1};
    const auto whole = ensemble({repeats(0.8), repeats(0.4)}, {1, 2});
    ASSERT_TRUE(whole->begin(8).has_value());
    const auto all = *whole->read(text, TextReader::Wanted::AfterEach);
    const auto cut = ensemble({repeats(0.8), repeats(0.4)}, {1, 2});
    ASSERT_TRUE(cut->begin(8).has_value());
    std::vector<float> pieces;
    for (const TokenId token : text) {
        const auto one = *cut->read({&token, 1}, TextReader::Wanted::AfterLast);
        pieces.insert(pieces.end(), one.begin(), one.end());
    }
    EXPECT_EQ(all, pieces);
}

TEST(Ensemble, RefusesMembersThatDoNotFit) {
    const auto code_of = [](std::vector<std::size_t> vocabularies, std::vector<double> priors) {
        Ensemble::Members members;
        for (const std::size_t size : vocabularies) {
            members.push_back(std::make_unique<ScriptedReader>(Table(size, std::vector<float>(size))
            ));
        }
        const auto made = Ensemble::make(std::move(members), std::move(priors));
        EXPECT_TRUE(made.has_error());
        return made.error().code;
    };
    EXPECT_EQ(code_of({3, 4}, {1, 1}), ErrorCode::Mismatch);
    EXPECT_EQ(code_of({3, 3}, {1}), ErrorCode::Mismatch);
    EXPECT_EQ(code_of({3, 3}, {1, 0}), ErrorCode::Mismatch);
    EXPECT_EQ(code_of({3}, {std::numeric_limits<double>::quiet_NaN()}), ErrorCode::Mismatch);
    EXPECT_EQ(code_of({}, {}), ErrorCode::Mismatch);
    EXPECT_EQ(
        code_of(std::vector<std::size_t>(17, 3), std::vector<double>(17, 1)), ErrorCode::Mismatch
    );
}

TEST(Ensemble, NamesTheMemberWhoseLogitsAreNoNumbers) {
    Table spoiled = repeats(0.5);
    spoiled[1][0] = std::numeric_limits<float>::quiet_NaN();
    const auto stack = ensemble({repeats(0.5), spoiled}, {1, 1});
    ASSERT_TRUE(stack->begin(2).has_value());
    const std::vector<TokenId> text{0, 1};
    const auto scores = stack->read(text, TextReader::Wanted::AfterLast);
    ASSERT_TRUE(scores.has_error());
    EXPECT_EQ(scores.error().code, ErrorCode::NotFinite);
    EXPECT_NE(scores.error().detail.find("member 2"), std::string::npos);
}

}  // namespace
}  // namespace stacking::composition

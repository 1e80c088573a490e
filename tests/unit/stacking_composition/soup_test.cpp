#include "stacking/composition/soup.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stacking::composition {
namespace {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using Chosen = std::vector<std::size_t>;

struct Cooked {
    Soup soup;
    std::vector<SoupStep> steps;
    std::vector<Chosen> asked;
};

template <class Together>
Cooked cook(const std::vector<double>& alone, const Together& together) {
    Cooked cooked;
    const auto ask = [&](std::span<const std::size_t> models) -> Result<double> {
        cooked.asked.emplace_back(models.begin(), models.end());
        return together(cooked.asked.back());
    };
    const auto soup =
        greedy_soup(alone, ask, [&](const SoupStep& step) { cooked.steps.push_back(step); });
    EXPECT_TRUE(soup.has_value());
    cooked.soup = *soup;
    return cooked;
}

TEST(LossWeights, AreTheSoftmaxOfMinusTheLosses) {
    const std::vector<double> weights = loss_weights(std::vector{2.0, 1.0, 2.0});
    const double whole = 1 + 2 * std::exp(-1.0);
    EXPECT_DOUBLE_EQ(weights[1], 1 / whole);
    EXPECT_DOUBLE_EQ(weights[0], std::exp(-1.0) / whole);
    EXPECT_EQ(weights[0], weights[2]);
    EXPECT_EQ(loss_weights(std::vector{7.0, 7.0}), (std::vector{0.5, 0.5}));
    EXPECT_EQ(loss_weights(std::vector{5000.0, 0.0}), (std::vector{0.0, 1.0}));
}

TEST(GreedySoup, TriesModelsInTheOrderOfTheirLosses) {
    const Cooked cooked = cook({3, 1, 2}, [](const Chosen&) { return 0.5; });
    EXPECT_EQ(cooked.asked, (std::vector<Chosen>{{1, 2}, {1, 2, 0}}));
    EXPECT_EQ(cooked.soup.models, (Chosen{1, 2, 0}));
    ASSERT_EQ(cooked.steps.size(), 3U);
    EXPECT_EQ(cooked.steps[0].together, 1) << "the best is its own soup";
    EXPECT_EQ(cooked.steps[2].alone, 3);
}

TEST(GreedySoup, LeavesAModelThatRaisesTheLoss) {
    const auto together = [](const Chosen& models) {
        return std::ranges::find(models, std::size_t{1}) == models.end() ? 0.8 : 1.5;
    };
    const Cooked cooked = cook({1, 1.1, 1.2}, together);
    EXPECT_EQ(cooked.asked, (std::vector<Chosen>{{0, 1}, {0, 2}}));
    EXPECT_EQ(cooked.soup.models, (Chosen{0, 2}));
    EXPECT_EQ(cooked.soup.loss, 0.8);
    EXPECT_FALSE(cooked.steps[1].kept);
    EXPECT_EQ(cooked.steps[1].together, 1.5);
}

TEST(GreedySoup, KeepsAModelThatChangesNothing) {
    const Cooked cooked = cook({1, 1}, [](const Chosen&) { return 1.0; });
    EXPECT_EQ(cooked.soup.models, (Chosen{0, 1}));
}

/// Any function of the chosen models may be the loss.
TEST(GreedySoup, IsNeverWorseThanItsBestModel) {
    for (std::uint64_t seed = 1; seed < 200; ++seed) {
        const auto drawn = [&](const Chosen& models) {
            const auto mix = [](std::uint64_t sum, std::size_t model) {
                return (sum ^ (model + 1)) * 6364136223846793005U + 1442695040888963407U;
            };
            const auto sum = std::accumulate(models.begin(), models.end(), seed, mix);
            return static_cast<double>(sum >> 40U) / 1e7;
        };
        std::vector<double> alone;
        for (std::size_t model = 0; model < 6; ++model) {
            alone.push_back(drawn({model}));
        }
        const Cooked cooked = cook(alone, drawn);
        EXPECT_LE(cooked.soup.loss, *std::ranges::min_element(alone));
        EXPECT_EQ(cooked.soup.loss, drawn(cooked.soup.models));
        EXPECT_EQ(cooked.steps.size(), alone.size());
    }
}

TEST(GreedySoup, LeavesAnAverageThatGivesNoNumbersAndPassesOtherErrorsOn) {
    const auto failing = [](ErrorCode code) {
        return [code](std::span<const std::size_t>) -> Result<double> {
            return Error{code, Reaction::Reject, "no"};
        };
    };
    const auto ignore = [](const SoupStep&) {};
    const std::vector<double> alone{1, 2};
    const auto soup = greedy_soup(alone, failing(ErrorCode::NotFinite), ignore);
    ASSERT_TRUE(soup.has_value());
    EXPECT_EQ(soup->models, Chosen{0});
    const auto failed = greedy_soup(alone, failing(ErrorCode::Full), ignore);
    ASSERT_TRUE(failed.has_error());
    EXPECT_EQ(failed.error().code, ErrorCode::Full);
}

}  // namespace
}  // namespace stacking::composition

#include "stacking/composition/member_search.hpp"

#include "stacking/composition/ensemble.hpp"
#include "tests/unit/stacking_composition/scripted_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace stacking::composition {
namespace {

/// Nats of three members on two windows: the first knows the first window, the second the second
/// one, and the third nothing.
std::vector<WindowNats> three_members() {
    const std::vector<double> good(20, 0.5);
    const std::vector<double> bad(20, 3);
    const std::vector<double> none(20, 5);
    return {{good, bad}, {bad, good}, {none, none}};
}

TEST(EnsembleLoss, OfOneMemberIsItsOwn) {
    const auto nats = three_members();
    const std::vector<double> priors(3, 1);
    EXPECT_NEAR(ensemble_loss(nats, priors, {0}), 1.75, 1e-12);
    EXPECT_NEAR(ensemble_loss(nats, priors, {2}), 5, 1e-12);
}

TEST(EnsembleLoss, CostsAtMostThePriorMoreThanTheBestOfEachWindow) {
    const auto nats = three_members();
    const std::vector<double> priors(3, 1);
    const double both = ensemble_loss(nats, priors, {0, 1});
    EXPECT_GT(both, 0.5);
    EXPECT_LE(both, 0.5 + std::log(2) / 20 + 1e-12);
    EXPECT_LT(both, ensemble_loss(nats, priors, {0, 1, 2}));
}

TEST(SearchSubsets, FindsTheBestOfAll) {
    const auto nats = three_members();
    const std::vector<double> priors(3, 1);
    const auto loss_of = [&](const Choice& choice) { return ensemble_loss(nats, priors, choice); };
    const Tries all = search_subsets(3, 7, loss_of);
    ASSERT_EQ(all.size(), 7U);
    EXPECT_EQ(all.front().members, (Choice{0, 1}));
    EXPECT_TRUE(std::ranges::is_sorted(all, {}, &Try::loss));
    std::set<Choice> different;
    for (const Try& one : all) {
        different.insert(one.members);
    }
    EXPECT_EQ(different.size(), 7U);
}

TEST(SearchSubsets, GrowsFromTheBestMemberWhereTheBudgetIsSmall) {
    const auto nats = three_members();
    const std::vector<double> priors(3, 1);
    const auto loss_of = [&](const Choice& choice) { return ensemble_loss(nats, priors, choice); };
    const Tries some = search_subsets(3, 6, loss_of);  // 3 alone, 2 pairs, then all
    EXPECT_EQ(some.size(), 6U);
    EXPECT_EQ(some.front().members, (Choice{0, 1}));
    EXPECT_EQ(search_subsets(3, 2, loss_of).size(), 2U);
}

TEST(SearchOrders, TriesAllOfThemOrGrows) {
    // The right order is 2 0 1; each pair in it counts.
    const auto loss_of = [](const Choice& choice) -> swarm::Result<double> {
        double loss = 10;
        for (std::size_t i = 0; i < choice.size(); ++i) {
            for (std::size_t k = i + 1; k < choice.size(); ++k) {
                const bool right = (choice[i] + 1) % 3 < (choice[k] + 1) % 3;
                loss -= right ? 1 : -0.5;
            }
        }
        return loss;
    };
    const auto all = search_orders(3, 6, loss_of);
    ASSERT_TRUE(all);
    EXPECT_EQ(all->size(), 6U);
    EXPECT_EQ(all->front().members, (Choice{2, 0, 1}));
    const auto grown = search_orders(4, 20, loss_of);  // 4! is more than the budget
    ASSERT_TRUE(grown);
    EXPECT_LE(grown->size(), 20U);
}

TEST(SearchOrders, EndsWithTheErrorOfATry) {
    const auto loss_of = [](const Choice& choice) -> swarm::Result<double> {
        if (choice.front() == 1) {
            return swarm::Error{
                swarm::ErrorCode::Mismatch, swarm::Reaction::Reject, "does not fit"};
        }
        return 1.0;
    };
    const auto tried = search_orders(2, 9, loss_of);
    ASSERT_FALSE(tried);
    EXPECT_EQ(tried.error().detail, "does not fit");
}

}  // namespace
}  // namespace stacking::composition

// Which guesses a text suggests, and how many of them pay.
#include "stacking/sessions/guesses.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

namespace stacking::sessions {
namespace {

using namespace std::chrono_literals;
using Tokens = std::vector<TokenId>;

constexpr std::uint32_t kMost = 15;

TEST(Guesses, FollowTheLastPlaceThatLooksTheSame) {
    Guesses guesses;
    const Tokens text{1, 2, 3, 4, 9, 1, 2, 3, 5, 6, 7, 1, 2, 3};
    EXPECT_EQ(guesses.next(text, 3), (Tokens{5, 6, 7}));
}

TEST(Guesses, PreferTheLongerMatch) {
    Guesses guesses;
    const Tokens text{0, 1, 2, 3, 4, 8, 1, 2, 3, 5, 8, 0, 1, 2, 3};
    EXPECT_EQ(guesses.next(text, 2), (Tokens{4, 8}));
}

TEST(Guesses, GoOnBehindTheEndOfARepeatedText) {
    Guesses guesses;
    const Tokens text{7, 8, 7, 8, 7, 8};
    EXPECT_EQ(guesses.next(text, 5), (Tokens{7, 8, 7, 8, 7}));
}

TEST(Guesses, ThereAreNoneWhereNothingRepeats) {
    Guesses guesses;
    Tokens text(100);
    std::iota(text.begin(), text.end(), 0);
    EXPECT_TRUE(guesses.next(text, kMost).empty());
    text.push_back(5);
    EXPECT_TRUE(guesses.next(text, kMost).empty()) << "one token is no match";
    EXPECT_TRUE(guesses.next({}, kMost).empty());
    EXPECT_TRUE(guesses.next(Tokens{1, 1, 1, 1}, 0).empty()) << "none may be made";
}

TEST(Guesses, LookBackSoFar) {
    Guesses guesses;
    Tokens text{1, 2, 3};
    text.resize(Guesses::kLookBack + 3);
    std::iota(text.begin() + 3, text.end(), 10);
    text.insert(text.end(), {1, 2});
    EXPECT_TRUE(guesses.next(text, kMost).empty());
}

/// Number of guesses after so many frames whose guesses were right so often. `price`: that of a
/// guess, as the hops say.
std::size_t after(
    std::size_t frames, std::uint32_t right, swarm::Duration each_guess, swarm::Duration price = 0ms
) {
    Guesses guesses;
    const Tokens text{1, 2, 3, 1, 2};
    const Tokens other{1, 2, 3, 4, 5};
    for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(guesses.next(other, kMost).empty());
        guesses.learn(0, 10ms);
    }
    for (std::size_t i = 0; i < frames; ++i) {
        const auto made = static_cast<std::uint32_t>(guesses.next(text, kMost).size());
        guesses.learn(std::min(right, made), 10ms + made * each_guess, price);
    }
    return guesses.next(text, kMost).size();
}

TEST(Guesses, AreManyWhereTheyAreRightAndFree) {
    EXPECT_EQ(after(60, kMost, 0ms), kMost);
}

TEST(Guesses, EndWhereEachIsAsDearAsAToken) {
    EXPECT_EQ(after(60, kMost, 11ms), 0U);
}

TEST(Guesses, EndWhereTheyCostOthersMoreThanTheyBring) {
    EXPECT_EQ(after(60, kMost, 0ms, 11ms), 0U);
    EXPECT_EQ(after(60, kMost, 0ms, 1ms), kMost);
}

TEST(Guesses, EndWhereTheyAreWrong) {
    std::size_t made = 0;
    for (std::size_t frames = 60; frames < 124; ++frames) {
        made += after(frames, 0, 2ms);
    }
    EXPECT_GT(made, 0U) << "now and then one is tried";
    EXPECT_LE(made, 4U);
}

}  // namespace
}  // namespace stacking::sessions

#include "swarm/coordinator/reachability.hpp"

#include <gtest/gtest.h>

namespace swarm::coordinator {
namespace {

using Peers = std::vector<PeerId>;

constexpr PeerId kAnna{{1}};
constexpr PeerId kBert{{2}};
constexpr PeerId kCleo{{3}};
constexpr TimePoint kNow{};

TEST(Reachability, TwoAreApartWhenEachNamesTheOther) {
    Reachability reachability;
    EXPECT_EQ(reachability.note(kAnna, {kBert}, kNow), Peers{});
    EXPECT_FALSE(reachability.are_apart(kAnna, kBert, kNow));
    EXPECT_EQ(reachability.note(kBert, {kCleo, kAnna}, kNow), Peers{kAnna});
    EXPECT_TRUE(reachability.are_apart(kAnna, kBert, kNow));
    EXPECT_TRUE(reachability.are_apart(kBert, kAnna, kNow));
    EXPECT_FALSE(reachability.are_apart(kBert, kCleo, kNow));
}

TEST(Reachability, AWordThatIsTakenBackDoesNotCount) {
    Reachability reachability;
    reachability.note(kAnna, {kBert}, kNow);
    reachability.note(kAnna, {}, kNow);
    EXPECT_EQ(reachability.note(kBert, {kAnna}, kNow), Peers{});
    EXPECT_EQ(reachability.pairs(), 0U);
}

TEST(Reachability, APairIsTriedAgainAfterTenMinutesUnlessItIsNamedAnew) {
    Reachability reachability;
    reachability.note(kAnna, {kBert}, kNow);
    reachability.note(kBert, {kAnna}, kNow);
    const TimePoint over = kNow + Reachability::kApartFor;
    EXPECT_TRUE(reachability.are_apart(kAnna, kBert, over - Duration(1)));
    EXPECT_FALSE(reachability.are_apart(kAnna, kBert, over));
    reachability.note(kAnna, {kBert}, over - Duration(1));
    EXPECT_TRUE(reachability.are_apart(kAnna, kBert, over));
}

TEST(Reachability, APeerThatRestartsIsTriedWithEverybody) {
    Reachability reachability;
    reachability.note(kAnna, {kBert, kCleo}, kNow);
    reachability.note(kBert, {kAnna}, kNow);
    reachability.note(kCleo, {kAnna}, kNow);
    EXPECT_EQ(reachability.pairs(), 2U);
    reachability.forget(kBert);
    EXPECT_FALSE(reachability.are_apart(kAnna, kBert, kNow));
    EXPECT_TRUE(reachability.are_apart(kAnna, kCleo, kNow));
    EXPECT_EQ(reachability.note(kAnna, {kBert}, kNow), Peers{}) << "its old word is forgotten";
}

TEST(Reachability, PeopleAreToldOnce) {
    Reachability reachability;
    reachability.note(kAnna, {kBert}, kNow);
    reachability.note(kBert, {kAnna}, kNow);
    EXPECT_TRUE(reachability.is_untold(kAnna, kBert));
    EXPECT_FALSE(reachability.is_untold(kBert, kAnna));
    EXPECT_FALSE(reachability.is_untold(kAnna, kCleo));
}

TEST(Reachability, HasABoundOfPairs) {
    Reachability reachability;
    const std::uint64_t peers = 2 * Reachability::kPairsMax;
    for (std::uint64_t i = 0; i < peers; i += 2) {
        reachability.note({{i}}, {{{i + 1}}}, kNow);
        reachability.note({{i + 1}}, {{{i}}}, kNow);
    }
    reachability.note(kAnna, {kCleo}, kNow);
    reachability.note(kCleo, {kAnna}, kNow);
    EXPECT_EQ(reachability.pairs(), Reachability::kPairsMax);
    EXPECT_FALSE(reachability.are_apart(kAnna, kCleo, kNow));
}

}  // namespace
}  // namespace swarm::coordinator

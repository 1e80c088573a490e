#include "swarm/coordinator/state_votes.hpp"

#include <gtest/gtest.h>

namespace swarm::coordinator {
namespace {

PeerId peer(std::uint64_t n) {
    return {{n, 0, 0, 0}};
}

Digest digest(std::uint8_t value) {
    Digest made;
    made.bytes.fill(static_cast<std::byte>(value));
    return made;
}

class StateVotesTest : public testing::Test {
 protected:
    StateVotes::Verdict judge(std::optional<Digest> fixed = {}, Silent silent = Silent::Wait) {
        return votes_.judge({0}, electors_, fixed, silent);
    }

    void say(std::uint64_t n, std::uint8_t hash) { votes_.say({0}, peer(n), digest(hash)); }

    std::vector<PeerId> electors_{peer(3), peer(1), peer(2)};  // 3 is the oldest
    StateVotes votes_;
};

TEST_F(StateVotesTest, AMajorityOfTheElectorsDecides) {
    say(1, 5);
    EXPECT_FALSE(judge().hash);
    say(2, 5);
    EXPECT_EQ(judge().hash, digest(5));
    EXPECT_TRUE(judge().wrong.empty());
    say(3, 6);
    EXPECT_EQ(judge().wrong, std::vector<PeerId>{peer(3)});
}

TEST_F(StateVotesTest, OnlyElectorsCountAndEachOnce) {
    for (std::uint64_t stranger = 10; stranger < 20; ++stranger) {
        say(stranger, 6);
    }
    for (int i = 0; i < 5; ++i) {
        say(1, 5);
    }
    EXPECT_FALSE(judge().hash);
    votes_.say({1}, peer(2), digest(5));
    EXPECT_FALSE(judge().hash) << "that is another stage";
}

TEST_F(StateVotesTest, BetweenEqualsTheOldestElectorIsRight) {
    say(1, 4);
    say(2, 5);
    EXPECT_FALSE(judge().hash) << "the third may still decide";
    say(3, 6);
    EXPECT_EQ(judge().hash, digest(6));
    EXPECT_EQ(judge().wrong, (std::vector<PeerId>{peer(1), peer(2)}));
}

TEST_F(StateVotesTest, AFixedHashIsNeverVotedAway) {
    for (const std::uint64_t n : {1, 2, 3}) {
        say(n, 6);
    }
    const StateVotes::Verdict verdict = judge(digest(5));
    EXPECT_EQ(verdict.hash, digest(5));
    EXPECT_EQ(verdict.wrong, electors_);
}

TEST_F(StateVotesTest, WithoutTheSilentTheMostFrequentHashDecides) {
    electors_.push_back(peer(4));
    electors_.push_back(peer(5));
    EXPECT_FALSE(judge({}, Silent::Ignore).hash);
    say(1, 5);
    say(2, 6);
    say(4, 6);
    EXPECT_FALSE(judge().hash);
    EXPECT_EQ(judge({}, Silent::Ignore).hash, digest(6));
}

TEST_F(StateVotesTest, ForgetsAPeerAndSaysThatSomethingChanged) {
    EXPECT_FALSE(votes_.take_changed());
    say(1, 5);
    EXPECT_TRUE(votes_.take_changed());
    EXPECT_FALSE(votes_.take_changed());
    votes_.forget(peer(1));
    EXPECT_TRUE(votes_.take_changed());
    EXPECT_FALSE(votes_.has_spoken({0}, peer(1)));
    EXPECT_TRUE(votes_.stages().empty());
}

}  // namespace
}  // namespace swarm::coordinator

// Attempts that came to the loss on two paths: who is blamed, and what it costs the others.
#include "swarm/coordinator/blame/forked_paths.hpp"

#include "tests/unit/coordinator/step_machine_bed.hpp"

#include <gtest/gtest.h>

namespace swarm::coordinator::test {
namespace {

PeerId peer_of(std::uint64_t n) {
    return {{n, 0, 0, 0}};
}

TEST(ForkedPaths, KnowTheStageInWhichTheyPart) {
    const ForkedPaths::Fork fork{{{1}, {2}, {3}}, {{1}, {4}, {5}}};
    EXPECT_EQ(fork.stage(), 1U);
}

TEST(ForkedPaths, GiveEachForkOnce) {
    ForkedPaths forks;
    forks.note({7}, {{{1}}, {{2}}});
    forks.note({7}, {{{1}}, {{3}}});
    const auto taken = forks.take();
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_EQ(taken.at({7}).second, ForkedPaths::Path{{2}});
    EXPECT_TRUE(forks.take().empty());
}

TEST(ForkedPaths, BlameWhoeverIsPartyToMost) {
    ForkedPaths forks;
    EXPECT_EQ(forks.blame({peer_of(1), peer_of(2), peer_of(3)}), std::nullopt);
    EXPECT_EQ(forks.blame({peer_of(4), peer_of(2), peer_of(5)}), peer_of(2));
    EXPECT_EQ(forks.blame({peer_of(2)}), std::nullopt) << "whoever was blamed begins anew";
}

TEST(ForkedPaths, OfEqualsBlameTheMostSuspect) {
    ForkedPaths forks;
    (void)forks.blame({peer_of(1), peer_of(2)});
    EXPECT_EQ(forks.blame({peer_of(1), peer_of(2)}), peer_of(1));
}

TEST(ForkedPaths, ForgetPeersThatAreGone) {
    ForkedPaths forks;
    (void)forks.blame({peer_of(1)});
    forks.forget([](PeerId peer) { return peer == peer_of(1); });
    EXPECT_EQ(forks.blame({peer_of(1)}), std::nullopt);
}

using ForkTest = StepMachineTest;

TEST_F(ForkTest, ATwinThatDidNothingWrongBeginsAnewAndIsNotFenced) {
    const SlotId first = slot(4);
    const SlotId second = slot(5);
    held_[peer(4)] = held_[peer(5)] = {{0}};
    say(4, path(0, 4));
    say(5, path(0, 5));
    go_on();
    EXPECT_EQ(slot(4), first);
    EXPECT_NE(slot(5), second);
    EXPECT_TRUE(is_member(5));
    EXPECT_TRUE(held_[peer(5)].empty()) << "its sums have the microbatch, too";
    EXPECT_EQ(step_.fenced(), 0U);
    EXPECT_EQ(step_.ledger().ids_of(first, {1}), std::vector<MicrobatchId>{{0}});
}

TEST_F(ForkTest, WhoeverIsPartyToTwoForksIsFencedInAnyStepOfThem) {
    say(4, path(0, 4));
    say(5, path(0, 5));
    go_on();
    EXPECT_EQ(step_.fenced(), 0U);
    EXPECT_GT(attempt_of(0), attempt_of(1)) << "which of the two counts is not known";
    context_.version.step += 1;
    Actions actions;
    step_.open(StartWith::Launch, actions.at(now_));
    launched_.clear();
    go_on();
    say(4, path(1, 4));
    say(5, path(1, 5));
    go_on();
    EXPECT_FALSE(is_member(4));
    EXPECT_EQ(context_.roster.all_members().size(), 4U);
}

TEST_F(ForkTest, AForkThatIsFoundInTheReductionEndsIt) {
    reach_reduce();
    say(5, path(0, 5));
    EXPECT_NE(step_.phase(), Phase::Reducing);
    EXPECT_EQ(step_.fenced(), 0U);
}

TEST_F(ForkTest, APathWithoutAnAttemptChangesNothing) {
    held_[launched_.at({0}).second] = held_[peer(4)] = {{0}};
    const protocol::FailedItem item{{0}, attempt_of(0), false};
    say(4, protocol::Fail{context_.version, slot(4), protocol::FailReason::Lost, {item}});
    go_on();  // every stage holds microbatch 0, so nothing is launched for it
    protocol::Path forged = path(0, 4);
    forged.attempt = step_.epoch();
    forged.loss = 99;
    ASSERT_TRUE(step_.ledger().is_current({0}, forged.attempt));
    const double before = step_.ledger().mean_loss();
    say(4, forged);
    EXPECT_EQ(step_.ledger().mean_loss(), before);
    EXPECT_FALSE(step_.ledger().needs_recall());
}

TEST_F(ForkTest, ATailThatReportsTwoPathsOfOneAttemptIsFenced) {
    const protocol::Path one = path(0, 4);
    protocol::Path other = one;
    for (const std::uint64_t n : {1, 2}) {
        other.path[0] = slot(n);
        if (other.path != one.path) {
            break;
        }
    }
    say(4, one);
    say(4, one);
    EXPECT_TRUE(is_member(4)) << "it said the same again";
    say(4, other);
    EXPECT_FALSE(is_member(4));
}

}  // namespace
}  // namespace swarm::coordinator::test

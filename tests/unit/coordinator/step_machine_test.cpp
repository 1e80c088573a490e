// Reports of members about a step, and which of them are believed. Peers 1 to 3 serve stage 0,
// peers 4 and 5 serve stage 1. They hold nothing, and they report what a test makes them report.
#include "tests/unit/coordinator/step_machine_bed.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace swarm::coordinator::test {
namespace {

TEST_F(StepMachineTest, BelievesAPathOnlyFromTheTailThatEndsIt) {
    ASSERT_EQ(launched_.size(), kMicrobatches);
    const protocol::Path forged = path(0, 4);
    say(1, forged);
    EXPECT_TRUE(step_.ledger().ids_of(slot(4), {1}).empty());
    reach_reduce();
    EXPECT_EQ(step_.ledger().ids_of(slot(4), {1}).size(), kMicrobatches);
}

TEST_F(StepMachineTest, RecallsThePathOfATailThatLostItsSlot) {
    const protocol::Path late = path(0, 4);
    const Attempt before = attempt_of(0);
    say(5, late);  // a fenced tail does so in its new slot
    go_on();
    EXPECT_GT(attempt_of(0), before);
}

TEST_F(StepMachineTest, CountsASlotOfOneStuckOnce) {
    reach_reduce();
    say(4, stuck({5, 5, 5, 5}));  // a lie that would outvote two
    say(2, stuck({1}));
    say(3, stuck({1}));
    miss_the_deadline();
    EXPECT_TRUE(is_member(5));
    EXPECT_FALSE(is_member(1));
}

TEST_F(StepMachineTest, WhoeverLacksGradientsOfThePathIsExcused) {
    reach_reduce();  // every path ends at peer 4
    say(1, stuck({2}));
    say(3, stuck({2}));
    say(2, stuck({4}, protocol::Owed::Gradients));
    miss_the_deadline();
    EXPECT_TRUE(is_member(2));
    EXPECT_FALSE(is_member(4));
}

TEST_F(StepMachineTest, ASlotThatNoPathLedToIsNoExcuse) {
    reach_reduce();
    say(1, stuck({2}));
    say(3, stuck({2}));
    say(2, stuck({5}, protocol::Owed::Gradients));
    miss_the_deadline();
    EXPECT_FALSE(is_member(2));
    EXPECT_TRUE(is_member(5));
}

TEST_F(StepMachineTest, BelievesTheFirstOfTwoThatWaitForEachOther) {
    reach_reduce();
    say(4, stuck({5}));
    say(5, stuck({4}));
    miss_the_deadline();
    EXPECT_TRUE(is_member(4));
    EXPECT_FALSE(is_member(5));
}

TEST_F(StepMachineTest, VotesOnlyOnReplicasOfTheVoter) {
    reach_reduce();
    protocol::Stuck liar = stuck({1, 2, 4});
    liar.waits_for.push_back({4321});
    say(4, liar);
    miss_the_deadline();
    EXPECT_EQ(context_.roster.all_members().size(), 5U);
}

TEST_F(StepMachineTest, CountsADropOnlyOfACurrentAttemptAndOnce) {
    protocol::Fail fail{context_.version, slot(1), protocol::FailReason::NotFinite, {}};
    for (int i = 0; i < 200; ++i) {
        say(4, fail);  // it names no microbatch
    }
    fail.items = {{{0}, attempt_of(0), true}, {{1}, make_epoch(1, 999), false}, {{9999}, {}, true}};
    for (int i = 0; i < 200; ++i) {
        say(4, fail);
    }
    EXPECT_FALSE(step_.skip_reason());
    EXPECT_EQ(context_.roster.all_members().size(), 5U);
}

TEST_F(StepMachineTest, AfterEightSecondsOfASmallReductionTheAwaitedMemberIsFenced) {
    reach_reduce();
    say(4, stuck({5}));
    EXPECT_EQ(step_.next_deadline(), now_ + 8s);
    Actions actions;
    step_.wake(actions.at(now_ += 8s));
    EXPECT_FALSE(is_member(5));
    EXPECT_NE(step_.phase(), Phase::Reducing);
}

TEST_F(StepMachineTest, AMemberThatWasCaughtIsKeptAwayForTenSecondsOverStepsToo) {
    const auto comes_back = [&] {
        protocol::SlotInfo info;
        info.peer = peer(5);
        info.incarnation = {5};
        info.stage = {stages_[4]};
        step_.admit(info, HeldSums::Forget, now_);
        Actions actions;
        step_.open(StartWith::Recall, actions.at(now_));  // forgets who waited for a slot
        step_.admit(info, HeldSums::Forget, now_);
        go_on();
        return is_member(5);
    };
    reach_reduce();
    say(5, protocol::Mismatch{context_.version, step_.epoch(), {}});
    ASSERT_FALSE(is_member(5));
    now_ += Conduct::kFirstTime - 1s;
    EXPECT_FALSE(comes_back());
    now_ += 1s;
    EXPECT_TRUE(comes_back());
}

TEST_F(StepMachineTest, AMemberThatFailsTwoReducesInARowIsFenced) {
    const auto mismatch = [&](std::uint64_t n) {
        // Peer 5 was sent no microbatch, so this one is not in its list.
        say(n, protocol::Mismatch{context_.version, step_.epoch(), {{0}}});
    };
    reach_reduce();
    mismatch(5);
    EXPECT_NE(step_.phase(), Phase::Reducing);
    EXPECT_TRUE(is_member(5)) << "once may be chance";
    go_on();
    reach_reduce();
    mismatch(5);
    EXPECT_FALSE(is_member(5));
    EXPECT_EQ(context_.roster.all_members().size(), 4U);
    go_on();
    reach_reduce();
}

TEST_F(StepMachineTest, AMismatchThatNamesOnlyWhatIsListedIsALie) {
    reach_reduce();
    say(4, protocol::Mismatch{context_.version, step_.epoch(), {{0}, {1}}});
    EXPECT_FALSE(is_member(4));
    EXPECT_TRUE(is_member(5));
}

TEST_F(StepMachineTest, AMemberThatReportsNoResultTwiceInARowIsFenced) {
    for (const bool before : {true, false}) {
        reach_reduce();
        for (const std::uint64_t n : {1, 2, 4}) {
            say(n, reduced(n));
        }
        while (step_.phase() == Phase::Reducing) {
            miss_the_deadline();
        }
        EXPECT_EQ(is_member(3), before);
        EXPECT_EQ(is_member(5), before);
        go_on();
    }
    EXPECT_TRUE(is_member(1) && is_member(2) && is_member(4));
}

/// The clip factor of the whole model follows from what the oldest member of a stage says.
TEST_F(StepMachineTest, AMemberWhoseSquaresAreNotThoseOfItsReplicasIsFenced) {
    reach_reduce();
    protocol::Reduced wrong = reduced(1);
    wrong.sums_of_squares.front() = 1e300;
    say(1, wrong);
    say(2, reduced(2));
    EXPECT_TRUE(is_member(1)) << "nobody has a majority of three yet";
    say(3, reduced(3));
    EXPECT_FALSE(is_member(1));
    EXPECT_TRUE(is_member(2) && is_member(3));
    EXPECT_NE(step_.phase(), Phase::Reducing);
}

/// Neither the order of the digests nor that of the words matters.
TEST_F(StepMachineTest, OfTwoThatDifferTheNewerOneIsFenced) {
    reach_reduce();
    protocol::Reduced larger = reduced(5);
    larger.result_hash.bytes[0] = std::byte{1};
    say(5, larger);
    say(4, reduced(4));
    EXPECT_TRUE(is_member(4));
    EXPECT_FALSE(is_member(5));
}

TEST_F(StepMachineTest, ATailWhoseTwoPathsAreDeniedIsFenced) {
    for (const std::uint64_t n : {1, 2}) {
        EXPECT_TRUE(is_member(4));
        reach_reduce();
        say(n, protocol::Mismatch{context_.version, step_.epoch(), {}, {{0}}});
        EXPECT_NE(step_.phase(), Phase::Reducing) << "nobody waits for what never comes";
        go_on();
    }
    EXPECT_FALSE(is_member(4));
    EXPECT_EQ(context_.roster.all_members().size(), 4U);
}

TEST_F(StepMachineTest, AMemberThatDeniesTwoPathsIsFencedBeforeTheirTail) {
    for (int round = 0; round < 2; ++round) {
        reach_reduce();
        say(5, protocol::Mismatch{context_.version, step_.epoch(), {}, {{0}}});
        go_on();
    }
    EXPECT_FALSE(is_member(5));
    EXPECT_TRUE(is_member(4));
}

TEST_F(StepMachineTest, AMemberThatGivesUpWorkOfALiveOneTwiceInARowIsFenced) {
    for (int round = 0; round < 2; ++round) {
        EXPECT_TRUE(is_member(1));
        reach_reduce();
        const protocol::FailedItem item{{0}, attempt_of(0), false};
        say(1, protocol::Fail{context_.version, slot(4), protocol::FailReason::Lost, {item}});
        EXPECT_NE(step_.phase(), Phase::Reducing);
        go_on();
    }
    EXPECT_FALSE(is_member(1));
    EXPECT_EQ(context_.roster.all_members().size(), 4U);
}

TEST_F(StepMachineTest, HintsWithoutEndAboutALiveMemberCountNoMore) {
    const auto give_up = [&] {
        const protocol::FailedItem item{{0}, attempt_of(0), false};
        say(1, protocol::Fail{context_.version, slot(4), protocol::FailReason::Lost, {item}});
        const Attempt before = attempt_of(0);
        go_on();
        return attempt_of(0) > before;
    };
    int recalls = 0;
    for (int i = 0; i < 100; ++i) {
        recalls += give_up() ? 1 : 0;
    }
    EXPECT_EQ(recalls, 16);
}

TEST_F(StepMachineTest, NobodyIsBlamedWhereAWholeStageIsLate) {
    for (int round = 0; round < 4; ++round) {
        reach_reduce();
        for (const std::uint64_t n : {1, 2, 3}) {
            say(n, reduced(n));
        }
        while (step_.phase() == Phase::Reducing) {
            miss_the_deadline();
        }
        go_on();
    }
    EXPECT_EQ(context_.roster.all_members().size(), 5U);
}

TEST_F(StepMachineTest, ReplicasOfExactReduceAsOneGroup) {
    reach_reduce();
    EXPECT_EQ(reduces_.at(peer(4)).group, (std::vector<SlotId>{slot(4), slot(5)}));
    EXPECT_EQ(reduces_.at(peer(5)).group, reduces_.at(peer(4)).group);
}

class TiedStepMachineTest : public StepMachineTest {
 protected:
    TiedStepMachineTest() { context_.config.model.tied_embeddings = true; }
};

TEST_F(TiedStepMachineTest, NamesTheMembersOfTheStageWithTheOtherCopy) {
    EXPECT_TRUE(reduces_.empty());
    reach_reduce();
    EXPECT_EQ(reduces_.at(peer(1)).tied_group, reduces_.at(peer(4)).group);
    EXPECT_EQ(reduces_.at(peer(4)).tied_group, reduces_.at(peer(1)).group);
    EXPECT_EQ(reduces_.at(peer(4)).tied_group.size(), 3U);
}

/// The other stage waits for every member that waits for its own replica.
TEST_F(TiedStepMachineTest, BlamesAMemberForItsReplicasBeforeOneForTheOtherStage) {
    reach_reduce();
    for (const std::uint64_t n : {1, 2, 3}) {
        say(n, stuck({4}, protocol::Owed::TiedSums));
    }
    say(4, stuck({5}));
    miss_the_deadline();
    EXPECT_TRUE(is_member(4));
    EXPECT_FALSE(is_member(5));
}

TEST_F(TiedStepMachineTest, BlamesAMemberThatKeepsOnlyTheOtherStageWaiting) {
    reach_reduce();
    say(1, stuck({4}, protocol::Owed::TiedSums));
    say(2, stuck({5}, protocol::Owed::TiedSums));
    say(3, stuck({5}, protocol::Owed::TiedSums));
    miss_the_deadline();
    EXPECT_TRUE(is_member(4));
    EXPECT_FALSE(is_member(5));
}

class LargeStepMachineTest : public StepMachineTest {
 protected:
    static constexpr std::uint32_t kElements = 10'000'000;  // 120 MB: 96 s at 10 Mb/s

    LargeStepMachineTest() : StepMachineTest({0, 0, 0, 1, 1}, kElements) {}
};

/// The members of a large stage are busy, not stuck, even if they accuse each other.
TEST_F(LargeStepMachineTest, HasTheTimeOfItsBytesOnASlowLine) {
    reach_reduce();
    say(4, stuck({5}));
    say(5, stuck({4}));
    EXPECT_EQ(step_.next_deadline(), now_ + 96s);
    Actions early;
    step_.wake(early.at(now_ + 95s));
    EXPECT_EQ(context_.roster.all_members().size(), 5U);
    EXPECT_EQ(step_.phase(), Phase::Reducing);
    Actions late;
    step_.wake(late.at(now_ += 96s));
    EXPECT_EQ(context_.roster.all_members().size(), 4U);
    EXPECT_NE(step_.phase(), Phase::Reducing);
}

TEST_F(StepMachineTest, OneMemberThatDropsEverythingLosesItsSlotAndDoesNotEndTheStep) {
    for (std::uint64_t round = 0; round < 20; ++round) {
        if (is_member(4)) {
            drop_all(4, 1 + round % 3);
            EXPECT_FALSE(step_.skip_reason());
            go_on();
        }
    }
    EXPECT_FALSE(is_member(4));
    for (std::uint32_t id = 0; id < kMicrobatches; ++id) {
        say(5, path(id, 5));
    }
    go_on();
    EXPECT_EQ(step_.phase(), Phase::Reducing);
}

TEST_F(StepMachineTest, OneMemberWhoseOutputOthersDropLosesItsSlot) {
    for (std::uint64_t round = 0; round < 20 && is_member(2); ++round) {
        drop_all(4 + round % 2, 2);
        EXPECT_FALSE(step_.skip_reason());
        go_on();
    }
    EXPECT_FALSE(is_member(2));
    EXPECT_EQ(context_.roster.all_members().size(), 4U);
}

TEST_F(StepMachineTest, TriesWithoutAMemberThatDroppedAMicrobatchTwice) {
    drop_all(4, 1);
    go_on();
    EXPECT_EQ(context_.roster.find(slot(4))->standing, protocol::Standing::Member);
    drop_all(4, 2);
    EXPECT_EQ(context_.roster.find(slot(4))->standing, protocol::Standing::Suspect);
    EXPECT_EQ(context_.roster.find(slot(2))->standing, protocol::Standing::Member);
}

TEST_F(StepMachineTest, DropsOfDifferentMembersAreSkipped) {
    drop_all(4, 1);
    go_on();
    EXPECT_FALSE(step_.skip_reason());
    drop_all(5, 2);
    EXPECT_EQ(step_.skip_reason(), "microbatch 0 is not finite in stage 1");
    go_on();
    ASSERT_EQ(step_.phase(), Phase::Deciding);
    EXPECT_TRUE(step_.decision().skips());
    EXPECT_TRUE(step_.decision().result_hashes.empty());
    EXPECT_EQ(step_.decision().epoch, step_.epoch());
    EXPECT_EQ(context_.roster.all_members().size(), 5U);
}

TEST_F(StepMachineTest, ASkipIsOfOneStepOnly) {
    drop_all(4, 1);
    go_on();
    drop_all(5, 2);
    go_on();
    Actions actions;
    context_.version.step += 1;
    step_.open(StartWith::Launch, actions.at(now_));
    EXPECT_FALSE(step_.skip_reason());
    go_on();
    drop_all(5, 2);
    EXPECT_FALSE(step_.skip_reason());
}

class LonelyTail : public StepMachineTest {
 protected:
    LonelyTail() : StepMachineTest({0, 0, 1}) {}
};

TEST_F(LonelyTail, IsBelievedBecauseNobodyElseCanTry) {
    drop_all(3, 1);
    go_on();
    drop_all(3, 2);
    EXPECT_TRUE(step_.skip_reason());
    EXPECT_TRUE(is_member(3));
}

}  // namespace
}  // namespace swarm::coordinator::test

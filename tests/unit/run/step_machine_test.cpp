// What one member may say of a step, and what it takes to be believed. Peers 1 to 3 serve stage 0,
// 4 and 5 stage 1; they hold nothing, and say what a test lets them say.
#include "swarm/run/step_machine.hpp"

#include "tests/unit/run/script.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace swarm::run {
namespace {

using namespace std::chrono_literals;
using test::Actions;
using Phase = StepMachine::Phase;

constexpr std::uint32_t kMicrobatches = 8;

class StepMachineTest : public testing::Test {
 protected:
    explicit StepMachineTest(
        std::vector<std::uint32_t> stages = {0, 0, 0, 1, 1},
        std::uint32_t width = 1,
        SyncMode mode = SyncMode::Exact
    )
        : stages_(std::move(stages)), context_(make_context(stages_, width, mode)) {
        for (std::uint64_t n = 1; n <= stages_.size(); ++n) {
            Actions actions;
            for (const auto lane : {node::Lane::Control, node::Lane::Bulk}) {
                context_.sessions.link_up({peer(n), lane, {n}}, actions.at(now_));
            }
        }
        Actions actions;
        step_.open(false, actions.at(now_));
        for (std::uint64_t n = 1; n <= stages_.size(); ++n) {
            protocol::SlotInfo info;
            info.peer = peer(n);
            info.incarnation = {n};
            info.stage = {stages_[n - 1]};
            step_.admit(info, true);
        }
        go_on();
    }

    static PeerId peer(std::uint64_t n) { return {{n, 0, 0, 0}}; }

    static RunContext make_context(
        const std::vector<std::uint32_t>& stages, std::uint32_t width, SyncMode mode
    ) {
        RunConfig config;
        config.mode = mode;
        config.model = *named_model("oracle");
        config.model.layers = 2;
        config.model.width = width;
        config.model.context = 1;
        config.batch = 1;
        config.stages = 2;
        config.microbatches = kMicrobatches;
        config.min_peers = static_cast<std::uint32_t>(stages.size());
        config.in_flight = 4 * kMicrobatches;  // a quarter may be replays
        return {
            config,
            partition(config),
            {},
            1,
            {},
            Roster(2, 1),
            {},
            FailureDetector(FailureDetector::Timing{}),
            0,
            {}};
    }

    [[nodiscard]] SlotId slot(std::uint64_t n) const {
        const protocol::SlotInfo* const info = context_.roster.find_peer(peer(n));
        return info ? info->slot : SlotId{};
    }

    [[nodiscard]] bool is_member(std::uint64_t n) const { return slot(n) != SlotId{}; }

    template <class Message>
    void say(std::uint64_t n, const Message& message) {
        Actions actions;
        step_.on(slot(n), message, actions.at(now_));
    }

    /// Lets the machine act until it waits for somebody; all answer a recall, with nothing.
    void go_on() {
        for (bool recalled = true; recalled;) {
            Actions actions;
            step_.advance(actions.at(now_ += 1ms));
            recalled = false;
            for (const node::Send& send : actions.all<node::Send>()) {
                const auto& body = send.message.body;
                if (const auto* const recall = std::get_if<protocol::Recall>(&body)) {
                    Actions answer;
                    const SlotId from = context_.roster.find_peer(send.peer)->slot;
                    step_.on(
                        from,
                        protocol::Held{recall->version, recall->epoch, {}, {}},
                        answer.at(now_)
                    );
                    recalled = true;
                } else if (const auto* const forward = std::get_if<protocol::Forward>(&body)) {
                    launched_[forward->microbatch] = {forward->attempt, send.peer};
                } else if (const auto* const reduce = std::get_if<protocol::Reduce>(&body)) {
                    reduces_[send.peer] = *reduce;
                }
            }
        }
    }

    [[nodiscard]] Attempt attempt_of(std::uint32_t id) const { return launched_.at({id}).first; }

    [[nodiscard]] protocol::Path path(std::uint32_t id, std::uint64_t tail) const {
        const SlotId first = context_.roster.find_peer(launched_.at({id}).second)->slot;
        return {context_.version, {id}, attempt_of(id), {first, slot(tail)}, 1.0};
    }

    /// All arrive at peer 4.
    void reach_reduce() {
        for (std::uint32_t id = 0; id < kMicrobatches; ++id) {
            say(4, path(id, 4));
        }
        go_on();
        ASSERT_EQ(step_.phase(), Phase::Reducing);
    }

    protocol::Stuck stuck(std::vector<std::uint64_t> peers) {
        protocol::Stuck message{context_.version, step_.epoch(), {}};
        for (const std::uint64_t n : peers) {
            message.waits_for.push_back(slot(n));
        }
        return message;
    }

    void miss_the_deadline() {
        Actions actions;
        now_ = step_.next_deadline();
        step_.wake(actions.at(now_));
    }

    /// `n` drops every microbatch that is under way, as it came from `about`.
    void drop_all(std::uint64_t n, std::uint64_t about) {
        protocol::Fail fail{context_.version, slot(about), protocol::FailReason::NotFinite, {}};
        for (const auto& [id, launch] : launched_) {
            fail.items.push_back({id, launch.first, false});
        }
        say(n, fail);
    }

    std::vector<std::uint32_t> stages_;
    RunContext context_;
    Launcher launcher_{context_, {}, 1};
    StepMachine step_{context_, launcher_, {}};
    TimePoint now_{};
    std::map<MicrobatchId, std::pair<Attempt, PeerId>> launched_;
    std::map<PeerId, protocol::Reduce> reduces_;
};

TEST_F(StepMachineTest, BelievesAPathOnlyFromTheTailThatEndsIt) {
    ASSERT_EQ(launched_.size(), kMicrobatches);
    const protocol::Path forged = path(0, 4);
    say(1, forged);
    EXPECT_TRUE(step_.ledger().ids_of(slot(4), {1}).empty());
    reach_reduce();
    EXPECT_EQ(step_.ledger().ids_of(slot(4), {1}).size(), kMicrobatches);
}

TEST_F(StepMachineTest, RecallsWhatATailReportsOfASlotThatItLost) {
    const protocol::Path late = path(0, 4);
    const Attempt before = attempt_of(0);
    say(5, late);  // as it would after a fence, in its new slot
    go_on();
    EXPECT_GT(attempt_of(0), before);
}

TEST_F(StepMachineTest, CountsAVoteOncePerVoter) {
    reach_reduce();
    for (int i = 0; i < 5; ++i) {
        say(1, stuck({2}));
    }
    say(2, stuck({1}));
    say(3, stuck({1}));
    miss_the_deadline();
    EXPECT_TRUE(is_member(2));
    EXPECT_FALSE(is_member(1));
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
        say(4, fail);  // of nothing
    }
    fail.items = {{{0}, attempt_of(0), true}, {{1}, make_epoch(1, 999), false}, {{9999}, {}, true}};
    for (int i = 0; i < 200; ++i) {
        say(4, fail);
    }
    EXPECT_FALSE(step_.skip_reason());
    EXPECT_EQ(context_.roster.all_members().size(), 5U);
}

TEST_F(StepMachineTest, ASmallReductionThatTakesTenSecondsCostsWhoIsWaitedFor) {
    reach_reduce();
    say(4, stuck({5}));
    EXPECT_EQ(step_.next_deadline(), now_ + 10s);
    Actions actions;
    step_.wake(actions.at(now_ += 10s));
    EXPECT_FALSE(is_member(5));
    EXPECT_NE(step_.phase(), Phase::Reducing);
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

TEST_F(TiedStepMachineTest, NamesTheMembersOfTheStageWithTheOtherUse) {
    EXPECT_TRUE(reduces_.empty());
    reach_reduce();
    EXPECT_EQ(reduces_.at(peer(1)).tied_group, reduces_.at(peer(4)).group);
    EXPECT_EQ(reduces_.at(peer(4)).tied_group, reduces_.at(peer(1)).group);
    EXPECT_EQ(reduces_.at(peer(4)).tied_group.size(), 3U);
}

/// The other stage waits for whoever waits for its own replica.
TEST_F(TiedStepMachineTest, BlamesWhoKeepsItsReplicasWaitingBeforeWhoKeepsTheOtherStageWaiting) {
    reach_reduce();
    for (const std::uint64_t n : {1, 2, 3}) {
        say(n, stuck({4}));
    }
    say(4, stuck({5}));
    miss_the_deadline();
    EXPECT_TRUE(is_member(4));
    EXPECT_FALSE(is_member(5));
}

TEST_F(TiedStepMachineTest, BlamesWhoKeepsOnlyTheOtherStageWaiting) {
    reach_reduce();
    say(1, stuck({4}));
    say(2, stuck({5}));
    say(3, stuck({5}));
    miss_the_deadline();
    EXPECT_TRUE(is_member(4));
    EXPECT_FALSE(is_member(5));
}

class SparseStepMachineTest : public StepMachineTest {
 protected:
    SparseStepMachineTest() : StepMachineTest({0, 0, 0, 1, 1}, 1, SyncMode::Sparse) {}

    /// Two microbatches arrive at peer 4, the others at peer 5.
    void reach_reduce_at_both() {
        for (std::uint32_t id = 0; id < kMicrobatches; ++id) {
            const std::uint64_t tail = id < 2 ? 4 : 5;
            say(tail, path(id, tail));
        }
        go_on();
        ASSERT_EQ(step_.phase(), Phase::Reducing);
        ASSERT_EQ(reduces_.size(), 5U);
    }

    [[nodiscard]] std::uint32_t listed(std::uint64_t n) const {
        return static_cast<std::uint32_t>(reduces_.at(peer(n)).ids.size());
    }

    /// Of a replica alone: a result that is no other's, of gradients that all have norm `norm`.
    void say_reduced(std::uint64_t n, double norm, std::uint32_t counted) {
        const double part = norm * counted / kMicrobatches;
        protocol::Reduced reduced{context_.version, step_.epoch(), {}, {}, counted, 0, 0};
        reduced.sums_of_squares.assign(context_.layouts[n < 4 ? 0 : 1].tensors.size(), 0);
        reduced.sums_of_squares[0] = part * part;
        reduced.result_hash.bytes[0] = static_cast<std::byte>(n);
        say(n, reduced);
        go_on();
    }
};

TEST_F(SparseStepMachineTest, EachReplicaIsAGroupOfItsOwn) {
    reach_reduce_at_both();
    std::uint32_t below = 0;
    for (std::uint64_t n = 1; n <= 5; ++n) {
        EXPECT_EQ(reduces_.at(peer(n)).group, std::vector<SlotId>{slot(n)});
        below += n < 4 ? listed(n) : 0;
    }
    EXPECT_EQ(below, kMicrobatches) << "each is listed once per stage";
    EXPECT_EQ(listed(4), 2U);
    EXPECT_EQ(listed(5), 6U);
}

TEST_F(SparseStepMachineTest, DecidesWhenEachHasCountedItsOwnAndComparesNoResults) {
    reach_reduce_at_both();
    for (std::uint64_t n = 1; n <= 5; ++n) {
        EXPECT_EQ(step_.phase(), Phase::Reducing);
        say_reduced(n, n < 4 ? 3.0 : 4.0, listed(n));
    }
    ASSERT_EQ(step_.phase(), Phase::Deciding);
    EXPECT_EQ(context_.roster.all_members().size(), 5U);
    // Squares are a mean over microbatches, whoever has them.
    EXPECT_DOUBLE_EQ(step_.decision().gradient_norm, 5.0);
    EXPECT_EQ(step_.decision().result_hashes, std::vector<Digest>(2)) << "there is none of all";
}

TEST_F(SparseStepMachineTest, WhoCountsMoreOrLessThanItsListIsFenced) {
    reach_reduce_at_both();
    say_reduced(5, 1.0, listed(5));
    EXPECT_TRUE(is_member(5));
    say_reduced(4, 1.0, kMicrobatches);
    EXPECT_FALSE(is_member(4));
    EXPECT_NE(step_.phase(), Phase::Reducing);
}

class LargeStepMachineTest : public StepMachineTest {
 protected:
    static constexpr std::uint32_t kElements = 10'000'000;  // 120 MB: 96 s at 10 Mb/s

    LargeStepMachineTest() : StepMachineTest({0, 0, 0, 1, 1}, kElements) {}
};

/// Its members are busy, not stuck, whatever they say of each other meanwhile.
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

TEST_F(StepMachineTest, TriesWithoutWhoeverHasDroppedAMicrobatchTwice) {
    drop_all(4, 1);
    go_on();
    EXPECT_EQ(context_.roster.find(slot(4))->standing, protocol::Standing::Member);
    drop_all(4, 2);
    EXPECT_EQ(context_.roster.find(slot(4))->standing, protocol::Standing::Suspect);
    EXPECT_EQ(context_.roster.find(slot(2))->standing, protocol::Standing::Member);
}

TEST_F(StepMachineTest, WhatDifferentMembersDropIsSkipped) {
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
    step_.open(false, actions.at(now_));
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
}  // namespace swarm::run

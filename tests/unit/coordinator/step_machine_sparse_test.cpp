// Steps of mode sparse at the coordinator: replicas that train alone, and their exchanges.
#include "tests/unit/coordinator/step_machine_bed.hpp"

#include <gtest/gtest.h>

namespace swarm::coordinator::test {
namespace {

class SparseStepMachineTest : public StepMachineTest {
 protected:
    SparseStepMachineTest() : StepMachineTest({0, 0, 0, 1, 1}, 1, run::SyncMode::Sparse) {}

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

    /// The result of a replica that trains alone; all its gradients have norm `norm`, and no other
    /// replica has the same result.
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

TEST_F(SparseStepMachineTest, DecidesWhenEachReplicaHasCountedItsOwnAndComparesNoResults) {
    reach_reduce_at_both();
    for (std::uint64_t n = 1; n <= 5; ++n) {
        EXPECT_EQ(step_.phase(), Phase::Reducing);
        say_reduced(n, n < 4 ? 3.0 : 4.0, listed(n));
    }
    ASSERT_EQ(step_.phase(), Phase::Deciding);
    EXPECT_EQ(context_.roster.all_members().size(), 5U);
    // Squares are a mean over all microbatches, in whatever replica they are.
    EXPECT_DOUBLE_EQ(step_.decision().gradient_norm, 5.0);
    EXPECT_EQ(step_.decision().result_hashes, std::vector<Digest>(2)) << "there is none of all";
}

TEST_F(SparseStepMachineTest, AReplicaThatCountsMoreOrLessThanItsListIsFenced) {
    reach_reduce_at_both();
    say_reduced(5, 1.0, listed(5));
    EXPECT_TRUE(is_member(5));
    say_reduced(4, 1.0, kMicrobatches);
    EXPECT_FALSE(is_member(4));
    EXPECT_NE(step_.phase(), Phase::Reducing);
}

/// Otherwise the step would be committed without its sums, which nobody else has.
TEST_F(SparseStepMachineTest, AFencedReplicaTakesItsSumsAlongWhenAllOthersHoldTheirs) {
    reach_reduce_at_both();
    for (const std::uint64_t n : {1, 2, 3, 5}) {
        say_reduced(n, 1.0, listed(n));
    }
    Actions actions;
    ASSERT_TRUE(step_.fence(slot(4), "silent", IfLast::Fence, actions.at(now_)));
    go_on();
    EXPECT_EQ(step_.phase(), Phase::Running);
    EXPECT_FALSE(step_.ledger().all_pathed());
}

class ExchangeTest : public SparseStepMachineTest {
 protected:
    /// Peers 4 and 5 train in one step; then the exchange is open.
    void SetUp() override {
        context_.config.sync_every = 1;
        ASSERT_NO_FATAL_FAILURE(reach_reduce_at_both());
        for (std::uint64_t n = 1; n <= 5; ++n) {
            say_reduced(n, 1.0, listed(n));
        }
        ASSERT_EQ(step_.phase(), Phase::Deciding);
        EXPECT_EQ(step_.counted(), kMicrobatches);
        open_next();
        ASSERT_EQ(step_.phase(), Phase::Reducing) << "there is nothing to launch";
    }

    void open_next() {
        ++context_.version.step;
        launched_.clear();
        reduces_.clear();
        Actions actions;
        step_.open(StartWith::Launch, actions.at(now_));
        go_on();
    }

    [[nodiscard]] std::vector<protocol::Trained> shares(std::uint64_t n) const {
        return reduces_.at(peer(n)).shares;
    }

    void say_exchanged(std::uint64_t n, std::uint8_t hash) {
        protocol::Reduced reduced{context_.version, step_.epoch(), {}, {}, 0, 0, 0};
        reduced.result_hash.bytes[0] = static_cast<std::byte>(hash);
        say(n, reduced);
        go_on();
    }
};

TEST_F(ExchangeTest, ListsTheReplicasWithTheirMicrobatches) {
    EXPECT_EQ(shares(4), (std::vector<protocol::Trained>{{slot(4), 2}, {slot(5), 6}}));
    EXPECT_EQ(shares(5), shares(4));
    EXPECT_EQ(reduces_.at(peer(4)).group, (std::vector<SlotId>{slot(4), slot(5)}));
    EXPECT_TRUE(reduces_.at(peer(4)).ids.empty());
    std::uint64_t below = 0;
    for (const protocol::Trained& share : shares(1)) {
        below += share.microbatches;
    }
    EXPECT_EQ(below, kMicrobatches);
    EXPECT_TRUE(step_.owes_share(slot(4)));
    EXPECT_FALSE(step_.may_leave(slot(4)));
}

TEST_F(ExchangeTest, IsDecidedWhenAllHaveTheSameResult) {
    for (std::uint64_t n = 1; n <= 5; ++n) {
        EXPECT_EQ(step_.phase(), Phase::Reducing);
        say_exchanged(n, n < 4 ? 1 : 2);
    }
    ASSERT_EQ(step_.phase(), Phase::Deciding);
    EXPECT_TRUE(step_.decision().exchanges());
    EXPECT_FALSE(step_.decision().skips());
    ASSERT_EQ(step_.decision().result_hashes.size(), 2U);
    EXPECT_EQ(step_.decision().result_hashes[1].bytes[0], std::byte{2});
    EXPECT_FALSE(step_.owes_share(slot(4))) << "a new round begins";
    open_next();
    EXPECT_EQ(launched_.size(), kMicrobatches);
}

TEST_F(ExchangeTest, TheMinorityIsFencedAndItsShareLeavesTheNextList) {
    const swarm::Epoch before = step_.epoch();
    say_exchanged(1, 1);
    say_exchanged(2, 1);
    const SlotId liar = slot(3);
    say_exchanged(3, 9);
    EXPECT_FALSE(is_member(3));
    EXPECT_FALSE(step_.owes_share(liar));
    EXPECT_EQ(step_.phase(), Phase::Reducing);
    EXPECT_GT(step_.epoch(), before) << "a share of the epoch before must not count";
    for (const protocol::Trained& share : shares(1)) {
        EXPECT_NE(share.slot, liar);
    }
    EXPECT_EQ(shares(4).size(), 2U) << "the others give theirs again";
}

TEST_F(ExchangeTest, AReplicaWithoutItsCountedShareLosesItsSlotEvenAsTheLastOne) {
    for (const std::uint64_t n : {4, 5}) {
        say(n, protocol::Mismatch{context_.version, step_.epoch(), {}});
        go_on();
        EXPECT_FALSE(is_member(n));
    }
    EXPECT_EQ(step_.phase(), Phase::Running) << "it waits for somebody with the shared weights";
}

TEST_F(ExchangeTest, AReplicaThatComesBackBeginsAnewAndGivesNoShare) {
    Actions actions;
    ASSERT_TRUE(step_.fence(slot(5), "silent", IfLast::Fence, actions.at(now_)));
    protocol::SlotInfo info;
    info.peer = peer(5);
    info.incarnation = {5};
    info.stage = {1};
    step_.admit(info, HeldSums::Keep, now_);
    bool voids = false;
    Actions next;
    step_.advance(next.at(now_ += 1ms));
    for (const node::Send& send : next.all<node::Send>()) {
        const auto* const recall = std::get_if<protocol::Recall>(&send.message.body);
        voids = voids || (recall && send.peer == peer(5) && recall->void_all);
        if (recall) {
            say(context_.roster.find_peer(send.peer)->peer.words[0],
                protocol::Held{recall->version, recall->epoch, {}, {}});
        }
    }
    EXPECT_TRUE(voids);
    go_on();
    ASSERT_EQ(step_.phase(), Phase::Reducing);
    EXPECT_EQ(shares(5), (std::vector<protocol::Trained>{{slot(4), 2}}));
    EXPECT_EQ(reduces_.at(peer(5)).group, (std::vector<SlotId>{slot(4), slot(5)}));
}

}  // namespace
}  // namespace swarm::coordinator::test

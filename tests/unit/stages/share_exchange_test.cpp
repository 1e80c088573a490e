// Exchanges between replicas of a run's only stage, with peers 100, 101, ... and slots 1, 2, ...
#include "stages/server/share_exchange.hpp"

#include "tests/unit/stages/server_bed.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace stages {
namespace {

using namespace std::chrono_literals;
using swarm::Epoch;
using test::bodies;
using test::kCoordinator;
using test::kStart;

constexpr Epoch kEpoch{5};
constexpr Epoch kNextEpoch{6};

PeerId peer_of(std::uint64_t slot) {
    return {{99 + slot}};
}

/// A replica that has trained on as many microbatches as the number of its slot.
struct Member {
    Member(const swarm::run::RunConfig& config, std::uint64_t slot)
        : bed(peer_of(slot), config, 0) {
        bed.context.slot = SlotId{slot};
        const std::span<const float> at_first = bed.context.worker->state().weights();
        Weights shared =
            std::make_shared<const std::vector<float>>(at_first.begin(), at_first.end());
        replica = std::make_shared<SparseReplica>(
            bed.context.worker->layout(),
            *compression::find_codec(compression::CodecId::Sparse),
            std::move(shared)
        );
        bed.context.replica = replica;
        exchange.emplace(bed.context);
        train(static_cast<std::uint32_t>(slot));
    }

    using Weights = SparseReplica::Weights;

    void train(std::uint32_t microbatches) {
        std::vector<float> local = *replica->shared();
        for (std::size_t i = 0; i < local.size(); ++i) {
            local[i] += 0.25F * static_cast<float>((i * (microbatches + 3)) % 17);
        }
        bed.context.worker->use_weights(local);
        replica->trained_on(microbatches);
    }

    test::Bed bed;
    std::shared_ptr<SparseReplica> replica;
    std::optional<ShareExchange> exchange;
};

class ShareExchangeTest : public testing::Test {
 protected:
    void make_group(std::uint64_t members) {
        std::vector<protocol::SlotInfo> slots;
        for (std::uint64_t slot = 1; slot <= members; ++slot) {
            protocol::SlotInfo info;
            info.slot = {slot};
            info.peer = peer_of(slot);
            slots.push_back(info);
            members_.push_back(std::make_unique<Member>(config_, slot));
        }
        for (const auto& each : members_) {
            each->bed.context.roster.replace({1, slots});
        }
    }

    Member& member(std::uint64_t slot) { return *members_.at(slot - 1); }

    /// The list of all members but those in `without`.
    [[nodiscard]] ShareExchange::List list_of(
        Epoch epoch, const std::vector<std::uint64_t>& without = {}
    ) const {
        ShareExchange::List list;
        list.epoch = epoch;
        for (std::uint64_t slot = 1; slot <= members_.size(); ++slot) {
            if (std::ranges::find(without, slot) == without.end()) {
                list.group.push_back({slot});
                list.shares.push_back({{slot}, slot});
            }
        }
        return list;
    }

    void start_all(const ShareExchange::List& list) {
        for (const SlotId slot : list.group) {
            Member& each = member(slot.value);
            each.exchange->start(list, each.bed.at());
        }
    }

    /// Delivers shares until none is left. `change` may change a share; it returns false to lose
    /// it.
    void deliver(
        const std::function<bool(std::uint64_t from, std::uint64_t to, node::Send&)>& change =
            [](std::uint64_t, std::uint64_t, node::Send&) { return true; }
    ) {
        for (bool moved = true; std::exchange(moved, false);) {
            for (std::uint64_t slot = 1; slot <= members_.size(); ++slot) {
                for (node::Send& send : member(slot).bed.settle()) {
                    moved = true;
                    if (send.peer == kCoordinator) {
                        told_.push_back(send);
                        continue;
                    }
                    ++shares_sent_;
                    const std::uint64_t to = send.peer.words[0] - 99;
                    if (change(slot, to, send)) {
                        take(slot, to, send);
                    }
                }
            }
        }
    }

    void take(std::uint64_t from, std::uint64_t to, const node::Send& send) {
        Member& at = member(to);
        const auto& part = std::get<protocol::Part>(send.message.body);
        at.exchange->on(peer_of(from), part, send.payload, at.bed.at());
    }

    [[nodiscard]] std::vector<protocol::Reduced> reduced() const {
        return bodies<protocol::Reduced>(told_, kCoordinator);
    }

    /// The proposal that one process would make from the shares of these members.
    Member::Weights by_hand(const ShareExchange::List& list) {
        std::vector<SparseShare> shares;
        for (const ShareExchange::Trained& of : list.shares) {
            Member again(config_, of.slot.value);
            shares.push_back(*again.replica->share(again.bed.context.worker->state().weights(), 0));
        }
        return *Member(config_, 1).replica->propose(shares);
    }

    swarm::run::RunConfig config_ = test::small_run(1);
    std::vector<std::unique_ptr<Member>> members_;
    std::vector<node::Send> told_;
    int shares_sent_ = 0;
};

TEST_F(ShareExchangeTest, GivesAllMembersTheProposalOfOneProcess) {
    make_group(3);
    const auto list = list_of(kEpoch);
    start_all(list);
    EXPECT_FALSE(member(1).exchange->proposal(kEpoch));
    deliver();
    ASSERT_EQ(reduced().size(), 3U);
    const Member::Weights expected = by_hand(list);
    for (std::uint64_t slot = 1; slot <= 3; ++slot) {
        ASSERT_TRUE(member(slot).exchange->proposal(kEpoch));
        EXPECT_EQ(*member(slot).exchange->proposal(kEpoch), *expected);
        EXPECT_EQ(reduced()[slot - 1].result_hash, reduced()[0].result_hash);
        EXPECT_EQ(reduced()[slot - 1].epoch, kEpoch);
        EXPECT_EQ(reduced()[slot - 1].counted_once, 0U);
        EXPECT_NE(*member(slot).replica->shared(), *expected) << "nothing is decided yet";
        EXPECT_EQ(member(slot).exchange->next_deadline(), swarm::kNever);
    }
    EXPECT_EQ(shares_sent_, 6);
    EXPECT_FALSE(member(1).exchange->proposal(kNextEpoch));
}

TEST_F(ShareExchangeTest, OneMemberAloneProposesFromItsOwnShare) {
    make_group(1);
    start_all(list_of(kEpoch));
    deliver();
    EXPECT_EQ(reduced().size(), 1U);
    EXPECT_EQ(*member(1).exchange->proposal(kEpoch), *by_hand(list_of(kEpoch)));
}

TEST_F(ShareExchangeTest, AMemberThatHasNotTrainedTakesTheSharesOfTheOthers) {
    make_group(3);
    auto list = list_of(kEpoch);
    list.shares.erase(list.shares.begin());  // slot 1 has just joined
    start_all(list);
    deliver();
    EXPECT_EQ(reduced().size(), 3U);
    EXPECT_EQ(shares_sent_, 4);
    EXPECT_EQ(*member(1).exchange->proposal(kEpoch), *by_hand(list));
}

TEST_F(ShareExchangeTest, ObserversGetTheSharesAndAreNotWaitedFor) {
    make_group(3);
    auto list = list_of(kEpoch, {3});
    list.observers = {{3}};
    start_all(list);
    int observed = 0;
    deliver([&](std::uint64_t, std::uint64_t to, node::Send&) {
        observed += to == 3 ? 1 : 0;
        return to != 3;
    });
    EXPECT_EQ(observed, 2);
    EXPECT_EQ(reduced().size(), 2U);
}

TEST_F(ShareExchangeTest, KeepsSharesThatComeBeforeTheList) {
    make_group(2);
    member(1).exchange->start(list_of(kEpoch), member(1).bed.at());
    deliver();
    EXPECT_TRUE(reduced().empty());
    member(2).exchange->start(list_of(kEpoch), member(2).bed.at());
    deliver();
    EXPECT_EQ(reduced().size(), 2U);
}

TEST_F(ShareExchangeTest, AnotherEpochHasTheSameSharesWithoutThoseOfTheDead) {
    make_group(3);
    start_all(list_of(kEpoch));
    deliver([](std::uint64_t from, std::uint64_t, node::Send&) { return from != 3; });
    EXPECT_EQ(reduced().size(), 1U) << "number 3 has them all";
    told_.clear();
    for (std::uint64_t slot = 1; slot <= 2; ++slot) {
        member(slot).exchange->abort();
        EXPECT_FALSE(member(slot).exchange->is_active());
    }
    const auto list = list_of(kNextEpoch, {3});
    start_all(list);
    deliver();
    EXPECT_EQ(reduced().size(), 2U);
    EXPECT_FALSE(member(1).exchange->proposal(kEpoch));
    EXPECT_EQ(*member(1).exchange->proposal(kNextEpoch), *by_hand(list));
    EXPECT_EQ(*member(2).exchange->proposal(kNextEpoch), *by_hand(list));
}

TEST_F(ShareExchangeTest, AShareOfAnotherEpochOrSenderCountsForNothing) {
    make_group(3);
    start_all(list_of(kNextEpoch, {3}));
    deliver([&](std::uint64_t from, std::uint64_t to, node::Send& send) {
        auto& part = std::get<protocol::Part>(send.message.body);
        node::Send old = send;
        std::get<protocol::Part>(old.message.body).epoch = kEpoch;
        take(from, to, old);
        node::Send scattered = send;
        std::get<protocol::Part>(scattered.message.body).gathered = false;
        take(from, to, scattered);
        take(3, to, send);            // slot 3 is not in the list
        part.slice = 1 - part.slice;  // this is the receiver's own share
        return true;
    });
    EXPECT_TRUE(reduced().empty());
    EXPECT_FALSE(member(1).exchange->proposal(kNextEpoch));
}

TEST_F(ShareExchangeTest, SaysMismatchWhenTheListCountsOtherMicrobatches) {
    make_group(2);
    auto list = list_of(kEpoch);
    list.shares[1].microbatches = 7;
    start_all(list);
    deliver();
    const auto mismatches = bodies<protocol::Mismatch>(told_, kCoordinator);
    ASSERT_EQ(mismatches.size(), 1U);
    EXPECT_EQ(mismatches[0].epoch, kEpoch);
    EXPECT_TRUE(reduced().empty());
    EXPECT_FALSE(member(2).exchange->is_active());
    EXPECT_EQ(member(2).replica->trained(), 2U) << "its share is not taken";
}

TEST_F(ShareExchangeTest, NamesTheMemberWhoseShareDoesNotDecode) {
    make_group(3);
    start_all(list_of(kEpoch));
    deliver([](std::uint64_t from, std::uint64_t to, node::Send& send) {
        if (from == 2 && to == 1) {
            const std::vector<std::byte> noise(send.payload.bytes().size(), std::byte{0xff});
            send.payload = {send.payload.envelope(), noise};
        }
        return true;
    });
    EXPECT_EQ(reduced().size(), 2U);
    EXPECT_FALSE(member(1).exchange->proposal(kEpoch));
    Member& one = member(1);
    one.exchange->wake(one.bed.at(kStart + 3s));
    const auto stuck = bodies<protocol::Stuck>(one.bed.settle(), kCoordinator);
    ASSERT_EQ(stuck.size(), 1U);
    EXPECT_EQ(stuck[0].waits_for, (std::vector<SlotId>{{2}}));
    member(2).exchange->resend(peer_of(1), member(2).bed.at());
    deliver();
    EXPECT_EQ(reduced().size(), 3U) << "sound at last";
}

TEST_F(ShareExchangeTest, RepeatsItsShareAfterALinkWasLostAndTakesItOnce) {
    make_group(2);
    start_all(list_of(kEpoch));
    deliver([](std::uint64_t from, std::uint64_t, node::Send&) { return from != 1; });
    EXPECT_EQ(reduced().size(), 1U);
    Member& one = member(1);
    one.exchange->resend(peer_of(2), one.bed.at());
    one.exchange->resend(peer_of(2), one.bed.at());
    one.exchange->resend(peer_of(77), one.bed.at());
    deliver();
    EXPECT_EQ(reduced().size(), 2U);
    EXPECT_EQ(shares_sent_, 4);
    start_all(list_of(kEpoch));  // this repeats the list
    deliver();
    EXPECT_EQ(reduced().size(), 2U);
}

TEST_F(ShareExchangeTest, DropsSharesOfTheWrongSize) {
    make_group(2);
    start_all(list_of(kEpoch));
    deliver([](std::uint64_t from, std::uint64_t, node::Send& send) {
        if (from == 2) {
            std::vector<std::byte> shorter(send.payload.bytes().size() - 1);
            protocol::TensorEnvelope envelope;
            envelope.shape = {static_cast<std::uint32_t>(shorter.size())};
            send.payload = {std::move(envelope), std::move(shorter)};
        }
        return true;
    });
    EXPECT_EQ(reduced().size(), 1U);
    EXPECT_EQ(member(1).exchange->next_deadline(), kStart + 3s);
}

TEST_F(ShareExchangeTest, TheNextExchangeStartsAnew) {
    make_group(2);
    start_all(list_of(kEpoch));
    deliver();
    for (const auto& each : members_) {
        each->replica->adopt(each->exchange->proposal(kEpoch));
        each->exchange->new_step();
        EXPECT_FALSE(each->exchange->proposal(kEpoch));
        each->train(static_cast<std::uint32_t>(each->bed.context.slot->value));
    }
    told_.clear();
    start_all(list_of(kEpoch));
    deliver();
    ASSERT_EQ(reduced().size(), 2U);
    EXPECT_EQ(*member(1).exchange->proposal(kEpoch), *member(2).exchange->proposal(kEpoch));
    EXPECT_NE(*member(1).exchange->proposal(kEpoch), *member(1).replica->shared());
}

}  // namespace
}  // namespace stages

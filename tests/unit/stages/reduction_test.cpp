#include "tests/unit/stages/reduction_bed.hpp"

namespace stages {
namespace {

TEST_F(ReductionTest, GivesAllMembersTheSameResultWithEveryMicrobatchOnce) {
    make_group(3);
    for (const auto& each : members_) {
        EXPECT_TRUE(start(*each));
    }
    exchange();
    const auto results = reduced();
    ASSERT_EQ(results.size(), 3U);
    for (const protocol::Reduced& result : results) {
        EXPECT_EQ(result.epoch, kEpoch);
        EXPECT_EQ(result.result_hash, results[0].result_hash);
        EXPECT_EQ(result.counted_once, config_.microbatches);
        EXPECT_EQ(result.counted_wrong, 0U);
    }
    EXPECT_TRUE(member(0).reduction.has_result(kEpoch));
    EXPECT_FALSE(member(0).reduction.has_result({kEpoch.value + 1}));
}

TEST_F(ReductionTest, GivesTheSameBitsForAnyNumberOfMembers) {
    std::optional<swarm::Digest> hash;
    for (std::uint32_t members = 1; members <= 4; ++members) {
        members_.clear();
        told_.clear();
        make_group(members);
        for (const auto& each : members_) {
            start(*each);
        }
        exchange();
        ASSERT_EQ(reduced().size(), members);
        hash = hash.value_or(reduced()[0].result_hash);
        EXPECT_EQ(reduced()[0].result_hash, *hash);
    }
}

TEST_F(ReductionTest, KeepsPartsThatComeBeforeItsOwnList) {
    make_group(2);
    start(member(0));
    exchange();
    EXPECT_TRUE(reduced().empty());
    start(member(1));
    exchange();
    EXPECT_EQ(reduced().size(), 2U);
}

TEST_F(ReductionTest, WaitsForTheLastBackward) {
    make_group(1);
    Member& only = member(0);
    Ids all = only.held;
    only.held.erase(MicrobatchId{0});
    EXPECT_FALSE(only.reduction.start(reduce_for(all), only.held, only.bed.at()));
    exchange();
    EXPECT_TRUE(reduced().empty());
    EXPECT_TRUE(only.reduction.ids_changed(all, only.bed.at()));
    exchange();
    EXPECT_EQ(reduced().size(), 1U);
}

TEST_F(ReductionTest, ReportsItsIdsWhenTheListLacksOne) {
    make_group(1);
    Member& only = member(0);
    EXPECT_FALSE(only.reduction.start(reduce_for({{0}}), only.held, only.bed.at()));
    exchange();
    const auto mismatches = bodies<protocol::Mismatch>(told_, kCoordinator);
    ASSERT_EQ(mismatches.size(), 1U);
    EXPECT_EQ(mismatches[0].ids, std::vector<MicrobatchId>(only.held.begin(), only.held.end()));
    EXPECT_FALSE(only.reduction.is_active());
}

TEST_F(ReductionTest, TakesARepeatedListOnce) {
    make_group(1);
    EXPECT_TRUE(start(member(0)));
    EXPECT_FALSE(start(member(0)));
    exchange();
    EXPECT_EQ(reduced().size(), 1U);
}

TEST_F(ReductionTest, TakesNoPartInAListWithoutItself) {
    make_group(2);
    auto reduce = reduce_for(member(0).held);
    reduce.group.erase(reduce.group.begin());
    EXPECT_FALSE(member(0).reduction.start(reduce, member(0).held, member(0).bed.at()));
    EXPECT_FALSE(member(0).reduction.is_active());
    EXPECT_TRUE(member(0).bed.settle().empty());
}

TEST_F(ReductionTest, ReportsNothingOfAnAbortedEpoch) {
    make_group(1);
    start(member(0));
    member(0).reduction.abort();
    exchange();
    EXPECT_TRUE(reduced().empty());
    EXPECT_EQ(member(0).reduction.next_deadline(), swarm::kNever);
}

TEST_F(ReductionTest, ReachesTheSameResultInALaterEpochAfterAnAbort) {
    make_group(2);
    for (const auto& each : members_) {
        start(*each);
    }
    member(0).bed.settle();  // its parts are lost
    member(1).bed.settle();
    for (const auto& each : members_) {
        each->reduction.abort();
        start(*each, {kEpoch.value + 1});
    }
    exchange();
    ASSERT_EQ(reduced().size(), 2U);
    EXPECT_EQ(reduced()[0].counted_once, config_.microbatches);
    EXPECT_EQ(reduced()[0].result_hash, reduced()[1].result_hash);
}

TEST_F(ReductionTest, CountsAPartThatComesTwiceOnce) {
    make_group(2);
    for (const auto& each : members_) {
        start(*each);
    }
    for (int copy = 0; copy < 2; ++copy) {
        member(0).reduction.resend(peer(1), member(0).bed.at());
    }
    exchange();
    ASSERT_GE(reduced().size(), 2U);
    EXPECT_EQ(reduced()[0].counted_once, config_.microbatches);
    EXPECT_EQ(reduced()[0].counted_wrong, 0U);
}

TEST_F(ReductionTest, RepeatsItsPartsToAPeerThatIsBack) {
    make_group(2);
    for (const auto& each : members_) {
        start(*each);
    }
    member(0).bed.settle();  // its parts are lost with the link
    exchange();
    EXPECT_TRUE(reduced().empty());
    member(0).reduction.resend(peer(1), member(0).bed.at());
    exchange();
    EXPECT_EQ(reduced().size(), 2U);
}

TEST_F(ReductionTest, NamesTheMembersThatItWaitsFor) {
    make_group(3);
    start(member(0));
    member(0).bed.settle();
    ASSERT_EQ(member(0).reduction.next_deadline(), kStart + 3s);
    member(0).reduction.wake(member(0).bed.at(kStart + 3s));
    const auto stuck = bodies<protocol::Stuck>(member(0).bed.settle(kStart + 3s), kCoordinator);
    ASSERT_EQ(stuck.size(), 1U);
    EXPECT_EQ(stuck[0].waits_for, (std::vector<SlotId>{{2}, {3}}));
    EXPECT_EQ(stuck[0].owed, protocol::Owed::Sums);
    EXPECT_GT(member(0).reduction.next_deadline(), kStart + 3s);
}

TEST_F(ReductionTest, DropsAPartOfAnotherSizeOrShape) {
    make_group(2);
    start(member(0));
    member(0).bed.settle();
    const std::uint64_t elements = member(0).bed.context.layout.elements() + config_.microbatches;
    const auto range = Slices(elements, 2).range(0);
    const auto count = static_cast<std::uint32_t>(range.end - range.begin);
    const std::vector<std::vector<std::uint32_t>> shapes{{count - 1}, {1, count}, {count, 1}};
    for (const auto& shape : shapes) {
        protocol::TensorEnvelope envelope;
        envelope.dtype = protocol::Dtype::Int64;
        envelope.shape = shape;
        const std::size_t bytes = envelope.elements() * sizeof(std::int64_t);
        member(0).reduction.on(
            peer(1),
            protocol::Part{{}, kEpoch, 0, false},
            node::Payload(envelope, std::vector<std::byte>(bytes)),
            member(0).bed.at()
        );
    }
    EXPECT_TRUE(member(0).bed.settle().empty());
    start(member(1));
    member(0).reduction.resend(peer(1), member(0).bed.at());
    exchange();
    EXPECT_EQ(reduced().size(), 2U);
}

TEST_F(ReductionTest, GoesOnWithNothingThatIsNotFinite) {
    make_group(2);
    start(member(0));
    start(member(1));
    for (const node::Send& send : member(1).bed.settle()) {
        route(peer(1), send);  // its sums complete the slice of member 0
    }
    const std::uint64_t elements = member(0).bed.context.layout.elements() + config_.microbatches;
    const auto range = Slices(elements, 2).range(1);
    const auto count = static_cast<std::uint32_t>(range.end - range.begin);
    const protocol::TensorEnvelope envelope{
        protocol::Dtype::Float32, protocol::CodecId::None, {count}};
    const std::vector<std::byte> all_ones(
        count * sizeof(float), std::byte{0xff}
    );  // each float is NaN
    const protocol::Part part{{}, kEpoch, 1, true};
    member(0).reduction.on(peer(1), part, node::Payload(envelope, all_ones), member(0).bed.at());
    const auto sends = member(0).bed.settle(kStart + 1s);
    EXPECT_TRUE(bodies<protocol::Reduced>(sends, kCoordinator).empty());
    ASSERT_EQ(member(0).reduction.next_deadline(), kStart + 4s);
    member(0).reduction.wake(member(0).bed.at(kStart + 4s));
    const auto stuck = bodies<protocol::Stuck>(member(0).bed.settle(), kCoordinator);
    ASSERT_EQ(stuck.size(), 1U);
    EXPECT_EQ(stuck[0].waits_for, std::vector<SlotId>{{2}});
    EXPECT_EQ(stuck[0].owed, protocol::Owed::Values);
}

TEST_F(ReductionTest, PacksManySmallPartsInOneJob) {
    make_group(4);
    start(member(0));
    const auto& asked = member(0).bed.out.actions;
    EXPECT_EQ(asked.size(), 2U) << "a result begun, and the parts for three members";
    const auto parts = bodies<protocol::Part>(member(0).bed.settle(), peer(3));
    ASSERT_EQ(parts.size(), 1U);
    EXPECT_EQ(parts[0].slice, 3U);
}

TEST_F(ReductionTest, PacksPartsForALineThatItHasNotMeasured) {
    make_large_group();
    const swarm::Digest packed = reduce_in(kEpoch, kStart);
    EXPECT_LT(bytes_per_element(), 5.5) << "gradients of 40 magnitudes, evenly";
    members_.clear();
    make_group(1);
    told_.clear();
    start(member(0));
    exchange();
    EXPECT_EQ(reduced().at(0).result_hash, packed);
}

TEST_F(ReductionTest, SendsRawPartsWhereTheLastSliceCameBackFast) {
    make_large_group();
    const swarm::Digest hash = reduce_in({5}, kStart);
    EXPECT_EQ(reduce_in({6}, kStart + 10s), hash);
    EXPECT_EQ(bytes_per_element(), 8.0);
    EXPECT_EQ(reduce_in({7}, kStart + 10s), hash);
    EXPECT_LT(bytes_per_element(), 5.5) << "that took 10 s";
}

TEST_F(ReductionTest, SendsShortPartsRaw) {
    make_group(2);
    reduce_in(kEpoch, kStart);
    EXPECT_EQ(bytes_per_element(), 8.0);
}

TEST_F(ReductionTest, WaitsForAPartInPlaceOfOneThatDoesNotUnpack) {
    make_large_group();
    start(member(0));
    member(0).bed.settle();
    start(member(1));
    const auto sends = member(1).bed.settle();
    ASSERT_EQ(sends.size(), 1U);
    const node::Payload& good = sends[0].payload;
    std::vector<std::byte> damaged(good.bytes().begin(), good.bytes().end());
    damaged[damaged.size() / 2] ^= std::byte{1};
    damaged[8] ^= std::byte{1};  // byte 8 is in the size of the first plane
    member(0).reduction.on(
        peer(1),
        std::get<protocol::Part>(sends[0].message.body),
        node::Payload(good.envelope(), std::move(damaged)),
        member(0).bed.at()
    );
    EXPECT_TRUE(member(0).bed.settle(kStart + 1s).empty());
    ASSERT_EQ(member(0).reduction.next_deadline(), kStart + 4s);
    member(0).reduction.wake(member(0).bed.at(kStart + 4s));
    const auto stuck = bodies<protocol::Stuck>(member(0).bed.settle(), kCoordinator);
    ASSERT_EQ(stuck.size(), 1U);
    EXPECT_EQ(stuck[0].waits_for, std::vector<SlotId>{{2}});
    EXPECT_EQ(stuck[0].owed, protocol::Owed::Sums);
    member(0).reduction.resend(peer(1), member(0).bed.at());
    route(peer(1), sends[0]);
    exchange();
    ASSERT_EQ(reduced().size(), 2U);
    EXPECT_EQ(reduced()[0].result_hash, reduced()[1].result_hash);
    EXPECT_EQ(reduced()[0].counted_once, config_.microbatches);
}

TEST_F(ReductionTest, DropsAPackedPartThatIsLongerThanARawOne) {
    make_large_group();
    start(member(0));
    member(0).bed.settle();
    start(member(1));
    const auto sends = member(1).bed.settle();
    const node::Payload& good = sends.at(0).payload;
    std::vector<std::byte> padded(good.bytes().begin(), good.bytes().end());
    padded.resize(8 * good.envelope().elements());
    const auto part = std::get<protocol::Part>(sends[0].message.body);
    member(0).reduction.on(
        peer(1), part, node::Payload(good.envelope(), padded), member(0).bed.at()
    );
    EXPECT_TRUE(member(0).bed.settle().empty()) << "no job, so nothing was allocated";
}

TEST_F(ReductionTest, TakesNoPartFromOutsideTheGroup) {
    make_group(2);
    start(member(0));
    const auto sends = member(0).bed.settle();
    start(member(1));
    for (const node::Send& send : sends) {
        const auto& part = std::get<protocol::Part>(send.message.body);
        member(1).reduction.on({{999}}, part, send.payload, member(1).bed.at());
    }
    exchange();
    EXPECT_TRUE(reduced().empty());
}

}  // namespace
}  // namespace stages

// Reductions with more than one slice per member.
#include "tests/unit/stages/reduction_bed.hpp"

namespace stages {
namespace {

class ReductionInSlices : public ReductionTest {};

TEST_F(ReductionInSlices, HasTheSameResultInPieces) {
    make_group(3);
    const swarm::Digest hash = reduce_in(kEpoch, kStart);
    for (const std::uint32_t pieces : {2U, 8U, 9U, 40U}) {
        members_.clear();
        make_fine_group(3, pieces);
        EXPECT_EQ(reduce_in(kEpoch, kStart), hash) << pieces;
        EXPECT_EQ(reduced()[0].counted_once, config_.microbatches);
    }
}

TEST_F(ReductionInSlices, BoundsThePartsUnderWayToAMember) {
    make_fine_group(2, 40);
    start(member(0));
    EXPECT_EQ(bodies<protocol::Part>(member(0).bed.settle(), peer(1)).size(), 8U);
    EXPECT_TRUE(member(0).bed.settle().empty()) << "until values come back";
}

/// The link is lost in the middle of a reduction, with the parts that are on it.
TEST_F(ReductionInSlices, GoesOnAfterALinkWasLost) {
    make_fine_group(2, 40);
    for (const auto& each : members_) {
        start(*each);
    }
    for (int rounds = 0; rounds < 3; ++rounds) {
        for (const auto& from : members_) {
            for (const node::Send& send : from->bed.settle()) {
                route(from->bed.context.self, send);
            }
        }
    }
    member(0).bed.settle();
    member(1).bed.settle();
    exchange();
    EXPECT_FALSE(member(0).reduction.has_result(kEpoch)) << "what was lost is missing";
    EXPECT_FALSE(member(1).reduction.has_result(kEpoch));
    member(0).reduction.resend(peer(1), member(0).bed.at());
    member(1).reduction.resend(peer(0), member(1).bed.at());
    exchange();
    ASSERT_EQ(reduced().size(), 2U);
    EXPECT_EQ(reduced()[0].result_hash, reduced()[1].result_hash);
    EXPECT_EQ(reduced()[0].counted_once, config_.microbatches);
}

/// The first values that come back are lost; those that follow are not.
TEST_F(ReductionInSlices, RepeatsValuesThatOthersOvertook) {
    make_fine_group(2, 40);
    for (const auto& each : members_) {
        start(*each);
    }
    exchange(kStart, [lost = false](const protocol::Part& part) mutable {
        return part.gathered && !std::exchange(lost, true);
    });
    EXPECT_TRUE(told_.empty()) << "neither has all of the values";
    member(0).reduction.resend(peer(1), member(0).bed.at());
    member(1).reduction.resend(peer(0), member(1).bed.at());
    exchange();
    EXPECT_EQ(reduced().size(), 2U);
}

TEST_F(ReductionInSlices, KeepsPiecesThatComeBeforeItsOwnList) {
    make_fine_group(3, 12);
    start(member(0));
    start(member(1));
    exchange();
    start(member(2));
    exchange();
    EXPECT_EQ(reduced().size(), 3U);
}

TEST_F(ReductionInSlices, DropsASliceThatDoesNotExist) {
    make_group(2);
    start(member(0));
    start(member(1));
    auto sends = member(1).bed.settle();
    auto part = std::get<protocol::Part>(sends.at(0).message.body);
    for (const std::uint32_t slice : {2U, 0xffff'ffffU}) {
        part.slice = slice;
        for (const bool gathered : {false, true}) {
            part.gathered = gathered;
            member(0).reduction.on(peer(1), part, sends[0].payload, member(0).bed.at());
        }
    }
    route(peer(1), sends[0]);
    exchange();
    EXPECT_EQ(reduced().size(), 2U);
}

}  // namespace
}  // namespace stages

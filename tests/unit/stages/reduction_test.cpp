#include "stages/reduction.hpp"

#include "tests/unit/stages/server_bed.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>

namespace stages {
namespace {

using namespace std::chrono_literals;
using swarm::Epoch;
using test::bodies;
using test::kCoordinator;
using test::kStart;
using Ids = MicrobatchIds;

constexpr Epoch kEpoch{5};

/// A replica of a run's only stage.
struct Member {
    explicit Member(const swarm::run::RunConfig& config, PeerId self) : bed(self, config, 0) {}

    void add(const swarm::run::RunConfig& config, std::uint32_t id) {
        const auto leg = test::leg_of(config, id);
        EXPECT_TRUE(bed.context.worker->forward_tail(leg));
        bed.context.worker->accumulate(leg.key);
        held.insert({id});
    }

    test::Bed bed;
    Reduction reduction{bed.context};
    Ids held;
};

class ReductionTest : public testing::Test {
 protected:
    /// Replicas with peers 100, 101, ... and slots 1, 2, ...; microbatches dealt out in turn.
    void make_group(std::uint32_t members) {
        std::vector<protocol::SlotInfo> slots;
        for (std::uint32_t i = 0; i < members; ++i) {
            protocol::SlotInfo info;
            info.slot = {1ULL + i};
            info.peer = peer(i);
            slots.push_back(info);
            members_.push_back(std::make_unique<Member>(config_, peer(i)));
        }
        for (const auto& member : members_) {
            member->bed.context.roster.replace({1, slots});
        }
        for (std::uint32_t id = 0; id < config_.microbatches; ++id) {
            members_[id % members]->add(config_, id);
        }
    }

    static PeerId peer(std::uint32_t index) { return {{100ULL + index}}; }

    Member& member(std::size_t index) { return *members_.at(index); }

    [[nodiscard]] protocol::Reduce reduce_for(const Ids& ids, Epoch epoch = kEpoch) const {
        protocol::Reduce reduce;
        reduce.epoch = epoch;
        reduce.ids.assign(ids.begin(), ids.end());
        for (std::uint32_t i = 0; i < members_.size(); ++i) {
            reduce.group.push_back({1ULL + i});
        }
        return reduce;
    }

    bool start(Member& at, Epoch epoch = kEpoch) {
        return at.reduction.start(reduce_for(at.held, epoch), at.held, at.bed.at());
    }

    /// Delivers parts between members until none is left; what goes to the coordinator is kept.
    /// What left at kStart arrives at `now`.
    void exchange(TimePoint now = kStart) {
        bool moved = true;
        while (moved) {
            moved = false;
            for (const auto& from : members_) {
                for (node::Send& send : from->bed.settle()) {
                    moved = true;
                    route(from->bed.context.self, send, now);
                }
            }
        }
    }

    void route(PeerId from, const node::Send& send, TimePoint now = kStart) {
        if (send.peer == kCoordinator) {
            told_.push_back(send);
            return;
        }
        Member& to = member(send.peer.words[0] - 100);
        const auto& part = std::get<protocol::Part>(send.message.body);
        scattered_.insert_or_assign(from, part.gathered ? scattered_[from] : send.payload);
        to.reduction.on(from, part, send.payload, to.bed.at(now));
    }

    /// Members that cut their stage into so many pieces each, about.
    void make_fine_group(std::uint32_t members, std::uint32_t pieces) {
        make_group(members);
        const std::uint64_t share = member(0).bed.context.slices(members).share(0).size();
        for (const auto& each : members_) {
            each->bed.context.slice_bytes_max = (share / pieces + 1) * sizeof(std::int64_t);
        }
        ASSERT_GE(member(0).bed.context.slices(members).pieces(), pieces - 2);
    }

    /// Two members, whose parts are long enough to be packed.
    void make_large_group() {
        config_.model.width = 64;
        config_.model.ffn_width = 128;
        make_group(2);
    }

    /// All go through the epoch; its parts arrive at `now`. Returns the hash of the result.
    swarm::Digest reduce_in(Epoch epoch, TimePoint now) {
        told_.clear();
        for (const auto& each : members_) {
            start(*each, epoch);
        }
        exchange(now);
        EXPECT_EQ(reduced().size(), members_.size());
        EXPECT_EQ(reduced().at(0).result_hash, reduced().at(1).result_hash);
        return reduced().at(0).result_hash;
    }

    /// The last part that the first member sent: bytes of its 8 per element.
    double bytes_per_element() {
        const node::Payload& part = scattered_[peer(0)];
        const bool packed = part.envelope().codec == protocol::CodecId::BytePlanes;
        EXPECT_EQ(packed, part.bytes().size() < 8 * part.envelope().elements());
        return static_cast<double>(part.bytes().size()) /
               static_cast<double>(part.envelope().elements());
    }

    [[nodiscard]] std::vector<protocol::Reduced> reduced() const {
        return bodies<protocol::Reduced>(told_, kCoordinator);
    }

    swarm::run::RunConfig config_ = test::small_run(1);
    std::vector<std::unique_ptr<Member>> members_;
    std::vector<node::Send> told_;
    std::map<PeerId, node::Payload> scattered_;
};

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

TEST_F(ReductionTest, TellsWhatItHoldsWhenTheListLacksOne) {
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

TEST_F(ReductionTest, SaysNothingOfAnEpochThatWasAborted) {
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

TEST_F(ReductionTest, CountsAPartOnceThoughItComesTwice) {
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
    member(0).bed.settle();  // lost with the link
    exchange();
    EXPECT_TRUE(reduced().empty());
    member(0).reduction.resend(peer(1), member(0).bed.at());
    exchange();
    EXPECT_EQ(reduced().size(), 2U);
}

TEST_F(ReductionTest, SaysForWhomItWaits) {
    make_group(3);
    start(member(0));
    member(0).bed.settle();
    ASSERT_EQ(member(0).reduction.next_deadline(), kStart + 3s);
    member(0).reduction.wake(member(0).bed.at(kStart + 3s));
    const auto stuck = bodies<protocol::Stuck>(member(0).bed.settle(kStart + 3s), kCoordinator);
    ASSERT_EQ(stuck.size(), 1U);
    EXPECT_EQ(stuck[0].waits_for, (std::vector<SlotId>{{2}, {3}}));
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
        route(peer(1), send);  // its sums: they complete the slice of member 0
    }
    const std::uint64_t elements = member(0).bed.context.layout.elements() + config_.microbatches;
    const auto range = Slices(elements, 2).range(1);
    const auto count = static_cast<std::uint32_t>(range.end - range.begin);
    const protocol::TensorEnvelope envelope{
        protocol::Dtype::Float32, protocol::CodecId::None, {count}};
    const std::vector<std::byte> all_ones(count * sizeof(float), std::byte{0xff});  // NaN
    const protocol::Part part{{}, kEpoch, 1, true};
    member(0).reduction.on(peer(1), part, node::Payload(envelope, all_ones), member(0).bed.at());
    const auto sends = member(0).bed.settle(kStart + 1s);
    EXPECT_TRUE(bodies<protocol::Reduced>(sends, kCoordinator).empty());
    ASSERT_EQ(member(0).reduction.next_deadline(), kStart + 4s);
    member(0).reduction.wake(member(0).bed.at(kStart + 4s));
    const auto stuck = bodies<protocol::Stuck>(member(0).bed.settle(), kCoordinator);
    ASSERT_EQ(stuck.size(), 1U);
    EXPECT_EQ(stuck[0].waits_for, std::vector<SlotId>{{2}});
}

TEST_F(ReductionTest, InPiecesItComesToTheSameResult) {
    make_group(3);
    const swarm::Digest hash = reduce_in(kEpoch, kStart);
    for (const std::uint32_t pieces : {2U, 8U, 9U, 40U}) {
        members_.clear();
        make_fine_group(3, pieces);
        EXPECT_EQ(reduce_in(kEpoch, kStart), hash) << pieces;
        EXPECT_EQ(reduced()[0].counted_once, config_.microbatches);
    }
}

TEST_F(ReductionTest, HasFewPartsUnderWayToAMember) {
    make_fine_group(2, 40);
    start(member(0));
    EXPECT_EQ(bodies<protocol::Part>(member(0).bed.settle(), peer(1)).size(), 8U);
    EXPECT_TRUE(member(0).bed.settle().empty()) << "until values come back";
}

/// In mid-reduction the link goes, with whatever is on it.
TEST_F(ReductionTest, GoesOnInPiecesAfterALinkWasLost) {
    make_fine_group(2, 40);
    for (const auto& each : members_) {
        start(*each);
    }
    for (int rounds = 0; rounds < 5; ++rounds) {
        for (const auto& from : members_) {
            for (const node::Send& send : from->bed.settle()) {
                route(from->bed.context.self, send);
            }
        }
    }
    member(0).bed.settle();
    member(1).bed.settle();
    exchange();
    EXPECT_TRUE(reduced().empty()) << "what was lost is missing";
    member(0).reduction.resend(peer(1), member(0).bed.at());
    member(1).reduction.resend(peer(0), member(1).bed.at());
    exchange();
    ASSERT_EQ(reduced().size(), 2U);
    EXPECT_EQ(reduced()[0].result_hash, reduced()[1].result_hash);
    EXPECT_EQ(reduced()[0].counted_once, config_.microbatches);
}

TEST_F(ReductionTest, KeepsPiecesThatComeBeforeItsOwnList) {
    make_fine_group(3, 12);
    start(member(0));
    start(member(1));
    exchange();
    start(member(2));
    exchange();
    EXPECT_EQ(reduced().size(), 3U);
}

TEST_F(ReductionTest, DropsASliceThatDoesNotExist) {
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

TEST_F(ReductionTest, PacksManySmallPartsInOneJob) {
    make_group(4);
    start(member(0));
    const auto& asked = member(0).bed.out.actions;
    EXPECT_EQ(asked.size(), 2U) << "a result begun, and the parts for three members";
    const auto parts = bodies<protocol::Part>(member(0).bed.settle(), peer(3));
    ASSERT_EQ(parts.size(), 1U);
    EXPECT_EQ(parts[0].slice, 3U);
}

TEST_F(ReductionTest, PacksPartsForALineThatItHasNotSeen) {
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

TEST_F(ReductionTest, SendsPartsAsTheyAreWhereTheLastSliceCameBackFast) {
    make_large_group();
    const swarm::Digest hash = reduce_in({5}, kStart);
    EXPECT_EQ(reduce_in({6}, kStart + 10s), hash);
    EXPECT_EQ(bytes_per_element(), 8.0);
    EXPECT_EQ(reduce_in({7}, kStart + 10s), hash);
    EXPECT_LT(bytes_per_element(), 5.5) << "that took 10 s";
}

TEST_F(ReductionTest, SendsShortPartsAsTheyAre) {
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
    damaged[8] ^= std::byte{1};  // the size of the first plane
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

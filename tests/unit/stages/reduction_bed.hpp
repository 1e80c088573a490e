// Replicas of a stage that reduce with each other, for the tests of a reduction.
#pragma once

#include "stages/server/reduction.hpp"
#include "tests/unit/stages/server_bed.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>

namespace stages {

using namespace std::chrono_literals;
using swarm::Epoch;
using test::bodies;
using test::kCoordinator;
using test::kStart;
using Ids = MicrobatchIds;

inline constexpr Epoch kEpoch{5};

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
    /// Makes replicas with peers 100, 101, ... and slots 1, 2, ... Microbatch m goes to the replica
    /// with index m mod members.
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

    /// Delivers parts between members until none is left, and keeps messages to the coordinator.
    /// Parts leave at kStart and arrive at `now`; a part for which is_lost() is true never arrives.
    void exchange(
        TimePoint now = kStart,
        std::function<bool(const protocol::Part&)> is_lost =
            [](const protocol::Part&) { return false; }
    ) {
        bool moved = true;
        while (moved) {
            moved = false;
            for (const auto& from : members_) {
                for (node::Send& send : from->bed.settle()) {
                    moved = true;
                    const auto* const part = std::get_if<protocol::Part>(&send.message.body);
                    if (part == nullptr || !is_lost(*part)) {
                        route(from->bed.context.self, send, now);
                    }
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

    /// Makes members that cut the stage into about `pieces` pieces per portion.
    void make_fine_group(std::uint32_t members, std::uint32_t pieces) {
        make_group(members);
        const std::uint64_t portion = member(0).bed.context.slices(members).portion(0).size();
        for (const auto& each : members_) {
            each->bed.context.slice_bytes_max = (portion / pieces + 1) * sizeof(std::int64_t);
        }
        ASSERT_GE(member(0).bed.context.slices(members).pieces(), pieces - 2);
    }

    /// Makes two members whose parts are long enough to be packed.
    void make_large_group() {
        config_.model.width = 64;
        config_.model.ffn_width = 128;
        make_group(2);
    }

    /// Runs an epoch of all members, whose parts arrive at `now`. Returns the hash of the result.
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

    /// Bytes per element of the last part that the first member sent; 8 when it is not packed.
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

}  // namespace stages

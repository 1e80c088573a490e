// The first and the last stage of a tied run, of one member each, and what passes between their
// reductions.
#include "stages/server/reduction.hpp"
#include "stages/single/single_run.hpp"
#include "tests/unit/stages/server_bed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace stages {
namespace {

using namespace std::chrono_literals;
using test::bodies;
using test::kCoordinator;
using test::kStart;

swarm::run::RunConfig tied_run() {
    auto config = test::small_run(2);
    config.model.tied_embeddings = true;
    return config;
}

struct End {
    End(const swarm::run::RunConfig& config, std::uint32_t stage)
        : bed({{100ULL + stage}}, config, stage) {}

    [[nodiscard]] std::vector<protocol::Reduced> reduced() const {
        return bodies<protocol::Reduced>(told, kCoordinator);
    }

    test::Bed bed;
    Reduction reduction{bed.context};
    std::vector<node::Send> told;  // messages to the coordinator
    std::vector<node::Send> sent;  // messages to the other end
};

class TiedReduction : public testing::Test {
 protected:
    TiedReduction() {
        const auto layouts = swarm::run::partition(config_);
        std::vector<protocol::SlotInfo> slots;
        for (std::uint32_t stage = 0; stage < 2; ++stage) {
            protocol::SlotInfo info;
            info.slot = slot_of(stage);
            info.peer = {{100ULL + stage}};
            info.stage = {stage};
            slots.push_back(info);
        }
        for (std::uint32_t stage = 0; stage < 2; ++stage) {
            ServerContext& context = ends_[stage]->bed.context;
            context.tied = ServerContext::TiedStage{{1 - stage}, layouts[1 - stage].elements()};
            context.roster.replace({1, slots});
        }
        const std::array path{worker(0), worker(1)};
        for (std::uint32_t id = 0; id < config_.microbatches; ++id) {
            EXPECT_TRUE(run_microbatch(path, swarm::StageMask::first(2), test::leg_of(config_, id))
            );
            held_.insert({id});
        }
    }

    static SlotId slot_of(std::uint32_t stage) { return {1ULL + stage}; }

    End& end(std::uint32_t stage) { return *ends_[stage]; }

    StageWorker* worker(std::uint32_t stage) { return end(stage).bed.context.worker.get(); }

    void start(std::uint32_t stage, std::vector<SlotId> tied_group) {
        protocol::Reduce reduce;
        reduce.epoch = {5};
        reduce.ids.assign(held_.begin(), held_.end());
        reduce.group = {slot_of(stage)};
        reduce.tied_group = std::move(tied_group);
        end(stage).reduction.start(reduce, held_, end(stage).bed.at());
        settle(stage);
    }

    void start(std::uint32_t stage) { start(stage, {slot_of(1 - stage)}); }

    void settle(std::uint32_t stage) {
        for (node::Send& send : end(stage).bed.settle()) {
            auto& list = send.peer == kCoordinator ? end(stage).told : end(stage).sent;
            list.push_back(std::move(send));
        }
    }

    /// Delivers the only part that the other end has sent, or `instead` in its place.
    void deliver_to(std::uint32_t stage, std::optional<node::Payload> instead = {}) {
        ASSERT_EQ(end(1 - stage).sent.size(), 1U);
        const node::Send& send = end(1 - stage).sent.front();
        end(stage).reduction.on(
            end(1 - stage).bed.context.self,
            std::get<protocol::Part>(send.message.body),
            instead.value_or(send.payload),
            end(stage).bed.at()
        );
        settle(stage);
    }

    /// Expects that both ends have a result with every microbatch and update the matrix alike.
    void expect_one_matrix() {
        for (const std::uint32_t stage : {0U, 1U}) {
            ASSERT_EQ(end(stage).reduced().size(), 1U);
            EXPECT_EQ(end(stage).reduced()[0].counted_once, config_.microbatches);
            worker(stage)->apply({.clip_factor = 1, .learning_rate = 0.1}, 0);
        }
        const std::size_t elements = swarm::run::tied_elements(config_);
        const auto first = worker(0)->state().weights().first(elements);
        const auto last = worker(1)->state().weights().last(elements);
        EXPECT_TRUE(std::equal(first.begin(), first.end(), last.begin()));
    }

    /// Elements of the only part that the first end has sent.
    std::uint32_t elements_sent() {
        return static_cast<std::uint32_t>(end(0).sent.at(0).payload.envelope().elements());
    }

    swarm::run::RunConfig config_ = tied_run();
    std::array<std::unique_ptr<End>, 2> ends_{
        std::make_unique<End>(config_, 0), std::make_unique<End>(config_, 1)};
    MicrobatchIds held_;
};

TEST_F(TiedReduction, MakesOneMatrixAtBothEnds) {
    start(0);
    start(1);
    EXPECT_TRUE(end(0).reduced().empty()) << "without the other use";
    deliver_to(0);
    deliver_to(1);
    const float seed = worker(0)->state().weights().front();
    expect_one_matrix();
    EXPECT_NE(worker(0)->state().weights().front(), seed);
}

TEST_F(TiedReduction, CountsAPartThatOvertakesItsListOnce) {
    start(1);
    deliver_to(0);
    deliver_to(0);
    start(0);
    deliver_to(0);
    deliver_to(1);
    expect_one_matrix();
}

/// Such a part counts as missing, and STUCK names its sender to the coordinator.
TEST_F(TiedReduction, WaitsForAPartThatDoesNotUnpack) {
    start(0);
    start(1);
    const auto elements = elements_sent();
    deliver_to(
        1,
        node::Payload(
            {protocol::Dtype::Int64, protocol::CodecId::BytePlanes, {elements}},
            std::vector<std::byte>(16, std::byte{7})
        )
    );
    EXPECT_TRUE(end(1).reduced().empty());
    end(1).reduction.wake(end(1).bed.at(kStart + 3s));
    settle(1);
    const auto stuck = bodies<protocol::Stuck>(end(1).told, kCoordinator);
    ASSERT_EQ(stuck.size(), 1U);
    EXPECT_EQ(stuck[0].waits_for, std::vector<SlotId>{slot_of(0)});
    EXPECT_EQ(stuck[0].owed, protocol::Owed::TiedSums);
    deliver_to(1);
    EXPECT_EQ(end(1).reduced().size(), 1U);
}

TEST_F(TiedReduction, TakesNoPartOfAnotherSize) {
    start(0);
    start(1);
    const auto elements = elements_sent() - 1;
    deliver_to(
        1,
        node::Payload(
            {protocol::Dtype::Int64, protocol::CodecId::None, {elements}},
            std::vector<std::byte>(elements * sizeof(std::int64_t))
        )
    );
    EXPECT_TRUE(end(1).reduced().empty());
    deliver_to(1);
    EXPECT_EQ(end(1).reduced().size(), 1U);
}

TEST_F(TiedReduction, DoesNotBeginWithoutTheOtherStage) {
    start(0, {});
    EXPECT_FALSE(end(0).reduction.is_active());
    EXPECT_TRUE(end(0).sent.empty());
    EXPECT_TRUE(end(0).reduced().empty());
}

}  // namespace
}  // namespace stages

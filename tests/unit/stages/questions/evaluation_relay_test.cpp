#include "stages/server/evaluation_relay.hpp"

#include "tests/unit/stages/questions/relay_peers.hpp"
#include "tests/unit/stages/server_bed.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace stages {
namespace {

using namespace std::chrono_literals;
using protocol::Evaluate;
using protocol::Evaluated;
using test::bodies;
using test::kAbove;
using test::kCoordinator;
using test::kSelf;
using test::kStart;

constexpr PeerId kBelow{{60}};
constexpr PeerId kReplica{{80}};
constexpr PeerId kStranger{{90}};

/// One peer of each stage of a run of two stages; the relay is that of `stage`.
class EvaluationRelayTest : public testing::Test {
 protected:
    explicit EvaluationRelayTest(std::uint32_t stage = 0)
        : config_(test::small_run(2)), bed_(kSelf, config_, stage) {
        using protocol::Standing;
        const PeerId below = stage == 0 ? kSelf : kBelow;
        const PeerId above = stage == 0 ? kAbove : kSelf;
        bed_.context.roster.replace(
            {1,
             {{{1}, below, {1}, {0}, {}, Standing::Member, "a:1"},
              {{2}, above, {1}, {1}, {}, Standing::Member, "a:2"},
              {{3}, kReplica, {1}, {stage}, {}, Standing::Member, "a:3"}}}
        );
        bed_.context.slot = SlotId{stage + 1};
    }

    [[nodiscard]] Evaluate question(std::uint64_t request = 9) const {
        return {{0, 0}, request, test::leg_of(config_, 1).tokens};
    }

    std::vector<node::Send> take(PeerId from, const Evaluate& evaluate, node::Payload input = {}) {
        relay_.take(from, evaluate, std::move(input), kAbove, bed_.at());
        return bed_.settle();
    }

    void expect_refused(PeerId from, const Evaluate& evaluate, node::Payload input = {}) {
        const auto answers = bodies<Evaluated>(take(from, evaluate, std::move(input)), from);
        ASSERT_EQ(answers.size(), 1U);
        EXPECT_TRUE(answers[0].refused);
        EXPECT_EQ(answers[0].request, evaluate.request);
        EXPECT_EQ(relay_.next_deadline(), swarm::kNever);
    }

    /// The request as it went up.
    Evaluate pass_up() {
        const auto passed = bodies<Evaluate>(take(kCoordinator, question()), kAbove);
        EXPECT_EQ(passed.size(), 1U);
        return passed.empty() ? Evaluate{} : passed[0];
    }

    std::vector<Evaluated> answer(PeerId from, std::uint64_t request) {
        relay_.on(from, Evaluated{request, false, 2.5}, bed_.at());
        return bodies<Evaluated>(bed_.settle(), kCoordinator);
    }

    swarm::run::RunConfig config_;
    test::Bed bed_;
    EvaluationRelay relay_{bed_.context};
};

class EvaluationTailTest : public EvaluationRelayTest {
 protected:
    EvaluationTailTest() : EvaluationRelayTest(1) {}

    [[nodiscard]] node::Payload activation() const {
        const auto below = test::make_worker(config_, test::make_noise_compute, 0);
        return *below->forward_held_out({}, question().tokens);
    }
};

TEST_F(EvaluationRelayTest, PassesTheActivationUpAndTheLossBack) {
    const auto sends = take(kCoordinator, question());
    const auto passed = bodies<Evaluate>(sends, kAbove);
    ASSERT_EQ(passed.size(), 1U);
    EXPECT_EQ(passed[0].tokens, question().tokens);
    EXPECT_EQ(passed[0].version, question().version);
    EXPECT_FALSE(sends.front().payload.empty());
    const auto answers = answer(kAbove, passed[0].request);
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0], (Evaluated{9, false, 2.5}));
    EXPECT_TRUE(answer(kAbove, passed[0].request).empty());
}

TEST_F(EvaluationRelayTest, TakesAnAnswerFromNobodyElse) {
    const Evaluate passed = pass_up();
    EXPECT_TRUE(answer(kStranger, passed.request).empty());
    EXPECT_EQ(answer(kAbove, passed.request).size(), 1U);
}

TEST_F(EvaluationRelayTest, TakesQuestionsOfTheCoordinatorAlone) {
    expect_refused(kStranger, question());
    expect_refused(kReplica, question());
    expect_refused(kAbove, question());
}

TEST_F(EvaluationRelayTest, RefusesAnotherVersionThanItsOwn) {
    Evaluate other = question();
    other.version = {0, 1};
    expect_refused(kCoordinator, other);
    other.version = {1, 0};
    expect_refused(kCoordinator, other);
    bed_.context.applying = protocol::Commit{};
    expect_refused(kCoordinator, question());
}

TEST_F(EvaluationRelayTest, RefusesWithoutASlot) {
    bed_.context.slot.reset();
    expect_refused(kCoordinator, question());
}

TEST_F(EvaluationRelayTest, RefusesTokensThatDoNotFitTheRun) {
    Evaluate bad = question();
    bad.tokens.pop_back();
    expect_refused(kCoordinator, bad);
    bad = question();
    bad.tokens.back() = config_.model.vocabulary;
    expect_refused(kCoordinator, bad);
}

TEST_F(EvaluationRelayTest, RefusesWithoutAPeerAbove) {
    relay_.take(kCoordinator, question(), {}, std::nullopt, bed_.at());
    EXPECT_TRUE(bodies<Evaluated>(bed_.settle(), kCoordinator).at(0).refused);
}

TEST_F(EvaluationRelayTest, RefusesWhenThePeerAboveIsLost) {
    pass_up();
    relay_.peer_lost(kStranger, bed_.at());
    EXPECT_TRUE(bed_.settle().empty());
    relay_.peer_lost(kAbove, bed_.at());
    const auto answers = bodies<Evaluated>(bed_.settle(), kCoordinator);
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_TRUE(answers[0].refused);
    EXPECT_EQ(relay_.next_deadline(), swarm::kNever);
}

TEST_F(EvaluationRelayTest, RefusesAfterThirtySeconds) {
    pass_up();
    ASSERT_EQ(relay_.next_deadline(), kStart + 30s);
    relay_.wake(bed_.at(kStart + 30s));
    EXPECT_TRUE(bodies<Evaluated>(bed_.settle(), kCoordinator).at(0).refused);
}

TEST_F(EvaluationRelayTest, RefusesMoreThanItsBound) {
    for (std::size_t i = 0; i < protocol::kEvaluationsMax; ++i) {
        EXPECT_EQ(bodies<Evaluate>(take(kCoordinator, question(i)), kAbove).size(), 1U);
    }
    const auto answers = bodies<Evaluated>(take(kCoordinator, question()), kCoordinator);
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_TRUE(answers[0].refused);
}

TEST_F(EvaluationRelayTest, LeavesTheSumsAsTheyAre) {
    StageWorker& worker = *bed_.context.worker;
    const auto before = worker.state().hash();
    pass_up();
    EXPECT_EQ(worker.state().hash(), before);
    worker.finish_alone();
    EXPECT_EQ(worker.summarise_result().counted_once, 0U);
}

TEST_F(EvaluationTailTest, AnswersWithTheLossOfItsWorker) {
    const auto answers = bodies<Evaluated>(take(kBelow, question(), activation()), kBelow);
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_FALSE(answers[0].refused);
    EXPECT_EQ(answers[0].loss, *bed_.context.worker->tail_loss(activation(), question().tokens));
}

TEST_F(EvaluationTailTest, TakesQuestionsOfTheStageBelowAlone) {
    expect_refused(kStranger, question(), activation());
    expect_refused(kReplica, question(), activation());
    expect_refused(kCoordinator, question(), activation());
}

TEST_F(EvaluationTailTest, RefusesAnActivationThatDoesNotFit) {
    expect_refused(kBelow, question());
    const node::Payload good = activation();
    const auto bytes = good.bytes().subspan(sizeof(float));
    expect_refused(kBelow, question(), {good.envelope(), std::vector(bytes.begin(), bytes.end())});
}

}  // namespace
}  // namespace stages

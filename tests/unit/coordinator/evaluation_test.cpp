#include "swarm/coordinator/evaluation/evaluation.hpp"

#include "tests/start.hpp"
#include "tests/unit/coordinator/two_by_two.hpp"

#include <gtest/gtest.h>

namespace swarm::coordinator {
namespace {

using namespace std::chrono_literals;
using protocol::Evaluate;
using protocol::Evaluated;
using swarm::test::kStart;

/// Peers 1 and 2 are stage 0. The texts have three microbatches and one.
class EvaluationTest : public testing::Test {
 protected:
    EvaluationTest() {
        run::RunConfig config;
        config.model = *run::named_model("oracle");
        config.model.context = 1;
        config.model.layers = 2;
        config.batch = 1;
        config.stages = 2;
        run_.begin(config);
        link(peer(1));
        link(peer(2));
        evaluation_.emplace(run_.context(), texts_);
        take();
    }

    static PeerId peer(std::uint64_t number) { return {{number, 0, 0, 0}}; }

    node::Turn at(TimePoint now) { return {now, out_}; }

    void link(PeerId to) {
        for (const node::Lane lane : {node::Lane::Control, node::Lane::Bulk}) {
            run_.context().peer_streams.link_up({to, lane, {1}}, at(kStart));
        }
    }

    struct Asked {
        PeerId peer;
        Evaluate question;
    };

    /// The requests since the last call.
    std::vector<Asked> take() {
        std::vector<Asked> asked;
        for (const node::Action& action : std::exchange(out_.actions, {})) {
            if (const auto* const send = std::get_if<node::Send>(&action)) {
                if (const auto* const body = std::get_if<Evaluate>(&send->message.body)) {
                    asked.push_back({send->peer, *body});
                }
            }
        }
        return asked;
    }

    std::vector<Asked> begin() {
        evaluation_->begin(at(kStart));
        return advance(kStart);
    }

    std::vector<Asked> advance(TimePoint now) {
        evaluation_->advance(at(now));
        return take();
    }

    void answer(const Asked& asked, double loss, TimePoint now = kStart) {
        evaluation_->on(asked.peer, Evaluated{asked.question.request, false, loss}, at(now));
    }

    void refuse(const Asked& asked, TimePoint now = kStart) {
        evaluation_->on(asked.peer, Evaluated{asked.question.request, true, 0}, at(now));
    }

    bool was_left_out() {
        const std::optional<Evaluation::Outcome> outcome = evaluation_->take_outcome();
        return outcome && !*outcome;
    }

    static PeerId other(PeerId one) { return one == peer(1) ? peer(2) : peer(1); }

    TwoByTwo run_;
    std::vector<run::HeldOutText> texts_{{"a", {0, 1, 2, 3, 4, 5}}, {"b", {6, 7}}};
    std::optional<Evaluation> evaluation_;
    node::Outbox out_;
};

TEST_F(EvaluationTest, PutsTheLossesIntoTheOrderOfTheMicrobatches) {
    const auto asked = begin();
    ASSERT_EQ(asked.size(), 4U);
    EXPECT_EQ(asked[0].question.tokens, (std::vector<std::uint32_t>{0, 1}));
    EXPECT_EQ(asked[3].question.tokens, (std::vector<std::uint32_t>{6, 7}));
    EXPECT_EQ(asked[0].question.version, run_.context().version);
    for (const std::size_t i : {3U, 1U, 0U, 2U}) {
        EXPECT_FALSE(evaluation_->take_outcome());
        answer(asked[i], static_cast<double>(i) + 0.5);
    }
    advance(kStart);
    EXPECT_EQ(evaluation_->take_outcome(), Evaluation::Outcome({0.5, 1.5, 2.5, 3.5}));
    EXPECT_FALSE(evaluation_->take_outcome());
    EXPECT_FALSE(evaluation_->under_way());
    EXPECT_EQ(evaluation_->next_deadline(), kNever);
}

TEST_F(EvaluationTest, SharesTheRequestsAmongThePeersOfStageZero) {
    std::map<PeerId, int> counts;
    for (const Asked& asked : begin()) {
        ++counts[asked.peer];
    }
    EXPECT_EQ(counts, (std::map<PeerId, int>{{peer(1), 2}, {peer(2), 2}}));
}

TEST_F(EvaluationTest, AsksAnotherPeerAfterARefusal) {
    const auto asked = begin();
    refuse(asked[1]);
    EXPECT_TRUE(advance(kStart).empty());  // not at once: the peer may apply a commit
    const TimePoint due = evaluation_->next_deadline();
    EXPECT_LE(due, kStart + 1s);
    const auto again = advance(due);
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].peer, other(asked[1].peer));
    EXPECT_EQ(again[0].question.tokens, asked[1].question.tokens);
}

TEST_F(EvaluationTest, AsksAnotherPeerWhenOneIsLost) {
    const auto asked = begin();
    run_.context().peer_streams.link_down({peer(1), node::Lane::Control}, kStart);
    advance(kStart);
    const auto again = advance(kStart + 1s);
    ASSERT_EQ(again.size(), 2U);
    EXPECT_EQ(again[0].peer, peer(2));
    EXPECT_EQ(again[1].peer, peer(2));
}

TEST_F(EvaluationTest, AsksAnotherPeerAfterTenSecondsOfSilence) {
    const auto asked = begin();
    for (const std::size_t i : {0U, 1U, 2U}) {
        answer(asked[i], 1);
    }
    EXPECT_EQ(evaluation_->next_deadline(), kStart + 10s);
    EXPECT_TRUE(advance(kStart + 9s).empty());
    advance(kStart + 10s);
    const auto again = advance(kStart + 11s);
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].peer, other(asked[3].peer));
    // The first peer was only slow; either answer is the same, and one of them counts.
    answer(asked[3], 7, kStart + 12s);
    answer(again[0], 8, kStart + 12s);
    advance(kStart + 12s);
    EXPECT_EQ(evaluation_->take_outcome(), Evaluation::Outcome({1, 1, 1, 7}));
}

TEST_F(EvaluationTest, TakesAnAnswerOnlyFromThePeerThatWasAsked) {
    const auto asked = begin();
    for (const Asked& each : asked) {
        evaluation_->on(other(each.peer), Evaluated{each.question.request, false, 3}, at(kStart));
    }
    advance(kStart);
    EXPECT_TRUE(evaluation_->under_way());
}

TEST_F(EvaluationTest, IsLeftOutWhenNobodyAnswersForTwoMinutes) {
    const auto asked = begin();
    answer(asked[0], 1, kStart + 5s);
    for (TimePoint now = kStart; now < kStart + 125s; now += 1s) {
        advance(now);
        EXPECT_FALSE(evaluation_->take_outcome());
    }
    advance(kStart + 125s);
    EXPECT_TRUE(was_left_out());
    EXPECT_FALSE(evaluation_->under_way());
}

TEST_F(EvaluationTest, IsForgottenWhenTheRunGoesBack) {
    const auto asked = begin();
    run_.context().version.gen += 1;
    EXPECT_TRUE(advance(kStart).empty());
    EXPECT_TRUE(was_left_out());
    answer(asked[0], 1);
    EXPECT_TRUE(advance(kStart).empty());
}

TEST_F(EvaluationTest, KeepsABoundedNumberInFlight) {
    texts_.front().tokens.assign(200, 1);
    evaluation_.emplace(run_.context(), texts_);
    const auto asked = begin();
    EXPECT_EQ(asked.size(), 8U);  // twice the members
    answer(asked[0], 1);
    EXPECT_EQ(advance(kStart).size(), 1U);
}

}  // namespace
}  // namespace swarm::coordinator

// The requests of a trunk: whom it asks, when it asks another one, and when it gives up.
#include "stacking/sessions/experts/expert_calls.hpp"

#include "stacking/sessions/experts/expert_rows.hpp"
#include "tests/unit/stacking_sessions/bench.hpp"

#include <gtest/gtest.h>

namespace stacking::sessions {
namespace {

using namespace std::chrono_literals;
using Asked = std::vector<std::pair<PeerId, protocol::ExpertRows>>;

constexpr PeerId kSelf{{5}};
constexpr PeerId kOne{{11}};
constexpr PeerId kTwo{{12}};
constexpr std::uint32_t kWidth = 4;
constexpr std::uint32_t kLayer = 3;

ExpertSet set_of(std::initializer_list<std::uint32_t> experts) {
    ExpertSet set;
    for (const std::uint32_t expert : experts) {
        set.add(expert);
    }
    return set;
}

protocol::HostInfo lender(PeerId peer, std::initializer_list<std::uint32_t> experts) {
    return {peer, {0, 8}, "192.0.2.1:1", {}, digest_of(3), set_of(experts).words(), true};
}

ExpertStop stop(std::initializer_list<std::uint32_t> experts, std::uint32_t rows = 1) {
    ExpertStop stop{kLayer, {}};
    for (const std::uint32_t expert : experts) {
        ExpertVisit visit{expert};
        for (std::uint32_t row = 0; row < rows; ++row) {
            visit.rows.push_back(row);
        }
        visit.values.assign(std::size_t{rows} * kWidth, static_cast<float>(expert));
        stop.visits.push_back(std::move(visit));
    }
    return stop;
}

class ExpertCallsTest : public testing::Test {
 protected:
    /// Gives one event, and returns the requests that it causes.
    template <class Act>
    Asked after(const Act& act) {
        node::Outbox out;
        act(node::Turn{now_, out});
        for (const node::Action& action : out.actions) {
            if (const auto* const dial = std::get_if<node::Dial>(&action)) {
                dialled_.push_back(dial->peer);
            }
        }
        EXPECT_GT(calls_.next_deadline(), now_);
        return sent<protocol::ExpertRows>(out);
    }

    Asked learn(std::vector<protocol::HostInfo> hosts) {
        const protocol::Located located{digest_of(1), 8, std::move(hosts)};
        return after([&](node::Turn turn) { calls_.take(located, turn); });
    }

    Asked link(PeerId peer) {
        links_.on(node::LinkUp{peer, node::Lane::Bulk, {1}});
        return after([&](node::Turn turn) { calls_.linked(peer, turn); });
    }

    Asked lose(PeerId peer) {
        links_.on(node::LinkDown{peer, node::Lane::Bulk});
        return after([&](node::Turn turn) { calls_.lost(peer, turn); });
    }

    Asked ask(const ExpertStop& stop) {
        return after([&](node::Turn turn) { calls_.ask(stop, turn); });
    }

    Asked wake_at(TimePoint time) {
        now_ = time;
        return after([&](node::Turn turn) { calls_.wake(turn); });
    }

    Asked answer(PeerId from, std::uint64_t request, std::uint32_t rows = 1, float value = 1) {
        const auto payload =
            *to_payload(std::vector<float>(std::size_t{rows} * kWidth, value), kWidth);
        return after([&](node::Turn turn) {
            calls_.take(from, protocol::ExpertOutputs{request}, payload, turn);
        });
    }

    Asked refuse(PeerId from, std::uint64_t request, bool busy) {
        return after([&](node::Turn turn) {
            calls_.take(from, protocol::ExpertRefused{request, busy}, turn);
        });
    }

    void two_lenders() {
        learn({lender(kOne, {0, 1}), lender(kTwo, {0, 1})});
        link(kOne);
        link(kTwo);
    }

    TimePoint now_ = TimePoint{} + 1h;
    LinkBook links_;
    std::vector<PeerId> dialled_;
    ExpertCalls calls_{{{kSelf, digest_of(3), {0, 8}, set_of({0, 1, 2})}, kWidth}, links_};
};

TEST_F(ExpertCallsTest, DialsThoseThatLendWhatItLacks) {
    auto other_weights = lender({{13}}, {0});
    other_weights.weights = digest_of(4);
    auto other_layers = lender({{14}}, {0});
    other_layers.hosted = {8, 12};
    learn(
        {lender(kOne, {0}),
         lender({{15}}, {7}),
         lender(kSelf, {0}),
         other_weights,
         other_layers,
         lender(kTwo, {5, 2})}
    );
    EXPECT_EQ(dialled_, (std::vector<PeerId>{kOne, kTwo}));
    EXPECT_TRUE(calls_.lends_to_us(kOne));
    EXPECT_FALSE(calls_.lends_to_us({{13}}));
}

TEST_F(ExpertCallsTest, SpreadsTheVisitsOfAStopOverTheLenders) {
    two_lenders();
    const Asked asked = ask(stop({0, 1}));
    ASSERT_EQ(asked.size(), 2U);
    EXPECT_NE(asked[0].first, asked[1].first);
    EXPECT_EQ(asked[0].second.layer, kLayer);
    EXPECT_EQ(asked[0].second.weights, digest_of(3));
    EXPECT_FALSE(calls_.is_done());
    answer(asked[0].first, asked[0].second.request, 1, 10);
    EXPECT_FALSE(calls_.is_done());
    answer(asked[1].first, asked[1].second.request, 1, 20);
    ASSERT_TRUE(calls_.is_done());
    const auto outputs = calls_.take_outputs();
    EXPECT_EQ(outputs.at(0), std::vector<float>(kWidth, 10));
    EXPECT_EQ(outputs.at(1), std::vector<float>(kWidth, 20));
}

TEST_F(ExpertCallsTest, TheFasterLenderGetsMore) {
    two_lenders();
    std::map<PeerId, std::size_t> count;
    for (int i = 0; i < 30; ++i) {
        Asked asked = ask(stop({0}));
        const auto [peer, rows] = asked.at(0);
        ++count[peer];
        now_ += peer == kOne ? 20ms : 2ms;
        answer(peer, rows.request);
        (void)calls_.take_outputs();
    }
    EXPECT_GT(count[kTwo], 25U);
    EXPECT_GE(count[kOne], 1U);
}

TEST_F(ExpertCallsTest, TheSameRowsGoToAnotherWhenALinkEnds) {
    two_lenders();
    const Asked asked = ask(stop({0}));
    const PeerId first = asked.at(0).first;
    const Asked again = lose(first);
    ASSERT_EQ(again.size(), 1U);
    EXPECT_NE(again[0].first, first);
    EXPECT_NE(again[0].second.request, asked[0].second.request);
    answer(again[0].first, again[0].second.request, 1, 7);
    EXPECT_EQ(calls_.take_outputs().at(0), std::vector<float>(kWidth, 7));
}

TEST_F(ExpertCallsTest, ASilentLenderIsLeftAndItsLateAnswerIsNobodys) {
    two_lenders();
    for (int i = 0; i < 4; ++i) {  // both have answered
        const Asked asked = ask(stop({0, 1}));
        now_ += 5ms;
        for (const auto& [peer, rows] : asked) {
            answer(peer, rows.request);
        }
        (void)calls_.take_outputs();
    }
    const Asked asked = ask(stop({0}));
    const TimePoint due = calls_.next_deadline();
    EXPECT_EQ(due - now_, ExpertLenders::kSilentLeast);
    const Asked again = wake_at(due);
    ASSERT_EQ(again.size(), 1U);
    EXPECT_NE(again[0].first, asked[0].first);
    answer(asked[0].first, asked[0].second.request, 1, 99);
    EXPECT_FALSE(calls_.is_done());
    answer(again[0].first, again[0].second.request, 1, 7);
    EXPECT_EQ(calls_.take_outputs().at(0), std::vector<float>(kWidth, 7));
}

TEST_F(ExpertCallsTest, RefusalsAndWrongOutputsGoToAnother) {
    for (int kind = 0; kind < 3; ++kind) {
        two_lenders();
        const Asked asked = ask(stop({0}, 2));
        const auto& [peer, rows] = asked.at(0);
        const Asked again = kind == 2 ? answer(peer, rows.request, 1)  // one row of two
                                      : refuse(peer, rows.request, kind == 1);
        ASSERT_EQ(again.size(), 1U) << kind;
        EXPECT_NE(again[0].first, peer) << kind;
        answer(again[0].first, again[0].second.request, 2);
        EXPECT_TRUE(calls_.is_done());
        (void)calls_.take_outputs();
        now_ += 10s;
    }
}

TEST_F(ExpertCallsTest, GivesUpTwoSecondsAfterTheLastLenderIsGone) {
    learn({lender(kOne, {0, 1})});
    link(kOne);
    ask(stop({0, 2}));
    EXPECT_TRUE(calls_.is_waiting());
    const TimePoint begun = now_;
    now_ += 100ms;
    lose(kOne);
    wake_at(begun + ExpertCalls::kAbsentMax);
    EXPECT_FALSE(calls_.is_done());  // expert 0 was there 100 ms longer
    wake_at(begun + 100ms + ExpertCalls::kAbsentMax);
    ASSERT_TRUE(calls_.is_done());
    const auto outputs = calls_.take_outputs();
    EXPECT_TRUE(outputs.at(0).empty() && outputs.at(1).empty());
    EXPECT_EQ(calls_.absent_like({kLayer, 0}, now_).size(), 8U);
    ask(stop({0}));  // nobody waits again
    EXPECT_TRUE(calls_.is_done());
    (void)calls_.take_outputs();
    link(kOne);
    EXPECT_EQ(ask(stop({0})).size(), 1U);
    EXPECT_TRUE(calls_.absent_like({kLayer, 0}, now_).empty());
}

/// One lender had both experts: whoever visits the second one later does not wait again.
TEST_F(ExpertCallsTest, TheAbsenceOfAnExpertBeginsWithTheLossOfItsLastLender) {
    learn({lender(kOne, {0, 1})});
    link(kOne);
    lose(kOne);
    ask(stop({0}));
    wake_at(now_ + ExpertCalls::kAbsentMax);
    ASSERT_TRUE(calls_.is_done());
    (void)calls_.take_outputs();
    ask(stop({1}));
    EXPECT_TRUE(calls_.is_done());
}

/// Another lender has the expert at other layers: its rest is no absence.
TEST_F(ExpertCallsTest, AnAbsenceHoldsForTheLayersOfTheSameLenders) {
    auto upper = lender(kTwo, {0});
    upper.hosted = {4, 8};
    auto lower = lender(kOne, {0});
    lower.hosted = {0, 4};
    learn({lower, upper});
    link(kTwo);
    EXPECT_EQ(calls_.absent_like({kLayer, 0}, now_).size(), 4U);
    ExpertStop above = stop({0});
    above.layer = 5;
    refuse(kTwo, ask(above).at(0).second.request, true);
    EXPECT_EQ(calls_.absent_like({kLayer, 0}, now_).size(), 4U);
    EXPECT_EQ(calls_.absent_like({5, 0}, now_).size(), 8U);
}

TEST_F(ExpertCallsTest, AsksALenderThatAppearsWithinTwoSeconds) {
    EXPECT_TRUE(ask(stop({0})).empty());
    now_ += 1900ms;
    EXPECT_TRUE(learn({lender(kOne, {0})}).empty());
    const Asked asked = link(kOne);
    ASSERT_EQ(asked.size(), 1U);
    now_ += 500ms;
    answer(kOne, asked[0].second.request, 1, 7);
    EXPECT_EQ(calls_.take_outputs().at(0), std::vector<float>(kWidth, 7));
}

/// A lender that is frozen holds up a text for its own deadline and two seconds.
TEST_F(ExpertCallsTest, GivesUpOnTheOnlyLenderThatIsSilent) {
    learn({lender(kOne, {0})});
    link(kOne);
    ask(stop({0}));
    const TimePoint begun = now_;
    for (int wakes = 0; wakes < 100 && !calls_.is_done(); ++wakes) {
        wake_at(calls_.next_deadline());
    }
    ASSERT_TRUE(calls_.is_done());
    EXPECT_TRUE(calls_.take_outputs().at(0).empty());
    EXPECT_LE(
        now_ - begun,
        ExpertLenders::kFirstAnswer + ExpertLenders::kRowAllowance + ExpertCalls::kAbsentMax
    );
}

TEST_F(ExpertCallsTest, KeepsSixteenRequestsUnderWayAtALender) {
    protocol::HostInfo all = lender(kOne, {});
    ExpertCalls::Options options{{kSelf, digest_of(3), {0, 8}, {}}, kWidth};
    ExpertSet set;
    for (std::uint32_t expert = 0; expert < 40; ++expert) {
        set.add(expert);
    }
    all.experts = set.words();
    options.lenders.lacking = set;
    ExpertCalls calls(options, links_);
    node::Outbox out;
    calls.take(protocol::Located{digest_of(1), 8, {all}}, {now_, out});
    links_.on(node::LinkUp{kOne, node::Lane::Bulk, {1}});
    ExpertStop all_of_them{kLayer, {}};
    for (std::uint32_t expert = 0; expert < 40; ++expert) {
        all_of_them.visits.push_back({expert, {0}, std::vector<float>(kWidth, 1)});
    }
    calls.ask(all_of_them, {now_, out});
    auto asked = sent<protocol::ExpertRows>(out);
    EXPECT_EQ(asked.size(), protocol::kExpertCallsPerPeerMax);
    for (std::size_t at = 0; at < asked.size(); ++at) {
        node::Outbox more;
        const auto payload = *to_payload(std::vector<float>(kWidth, 1), kWidth);
        calls.take(kOne, protocol::ExpertOutputs{asked[at].second.request}, payload, {now_, more});
        for (auto& next : sent<protocol::ExpertRows>(more)) {
            asked.push_back(next);
        }
    }
    EXPECT_TRUE(calls.is_done());
    EXPECT_EQ(asked.size(), 40U);
}

}  // namespace
}  // namespace stacking::sessions

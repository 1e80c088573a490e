// A server dials whom clients name, within bounds, and tells all failures at one time.
#include "stacking/sessions/told_dials.hpp"

#include "tests/unit/stacking_sessions/hop_bench.hpp"

#include <algorithm>

namespace stacking::sessions {
namespace {

constexpr PeerId kUnknown{{7}};

class ToldDialsTest : public HopTableTest {
 protected:
    protocol::SessionOpen open_towards(PeerId next, std::uint64_t session) const {
        protocol::SessionOpen asked = open(1, session);
        asked.positions = 1;
        asked.next = {next, "192.0.2.1:9"};
        return asked;
    }

    static std::size_t dials(const node::Outbox& out) {
        return static_cast<std::size_t>(std::ranges::count_if(out.actions, [](const auto& action) {
            return std::holds_alternative<node::Dial>(action);
        }));
    }

    /// The time from the open to the trouble, when the dial fails after `after`.
    swarm::Duration told_after(swarm::Duration after, std::uint64_t session) {
        const TimePoint asked = now_;
        EXPECT_TRUE(sent<SessionTrouble>(take(kClient, open_towards(kUnknown, session))).empty());
        links_.on(node::DialFailed{kUnknown, node::Lane::Bulk, {}});
        now_ = asked + after;
        node::Outbox out;
        table_->unreached(kUnknown, {now_, out});
        now_ = table_->next_deadline();
        table_->wake({now_, out});
        const auto troubles = sent<SessionTrouble>(out);
        EXPECT_EQ(troubles.size(), 1U);
        EXPECT_TRUE(troubles.empty() || troubles[0].second.reason == SessionReason::NextLost);
        return now_ - asked;
    }
};

TEST_F(ToldDialsTest, FailuresAreToldAtOneTimeWheneverTheyAreKnown) {
    EXPECT_EQ(told_after(0ms, 1), ToldDials::kAnswerAfter);
    EXPECT_EQ(told_after(3s, 2), ToldDials::kAnswerAfter);
}

TEST_F(ToldDialsTest, ALinkThatComesAfterAllOpensTheHop) {
    take(kClient, open_towards(kUnknown, 1));
    links_.on(node::DialFailed{kUnknown, node::Lane::Bulk, {}});
    node::Outbox out;
    table_->unreached(kUnknown, {now_, out});
    links_.on(node::LinkUp{kUnknown, node::Lane::Bulk, {1}});
    table_->linked(kUnknown, {now_, out});
    EXPECT_EQ(sent<SessionOpened>(out).size(), 1U);
    now_ += ToldDials::kAnswerAfter;
    table_->wake({now_, out});
    EXPECT_TRUE(sent<SessionTrouble>(out).empty());
}

TEST_F(ToldDialsTest, AClientCausesSoManyDialsAtOnceAndTheNextOnesTake) {
    std::size_t made = 0;
    for (std::uint64_t session = 1; session <= 99; ++session) {
        made += dials(take(kStranger, open_towards({{1000 + session}}, session)));
    }
    EXPECT_EQ(made, static_cast<std::size_t>(ToldDials::kAtOnce));
    EXPECT_EQ(dials(take(kClient, open_towards({{5000}}, 200))), 1U) << "another client";
    now_ += 1s;
    for (std::uint64_t session = 300; session < 350; ++session) {
        made += dials(take(kStranger, open_towards({{1000 + session}}, session)));
    }
    const double in_all = ToldDials::kAtOnce + ToldDials::kPerSecond;
    EXPECT_EQ(made, static_cast<std::size_t>(in_all));
}

}  // namespace
}  // namespace stacking::sessions

#include "stacking/run_view.hpp"

#include "tests/unit/stacking/script.hpp"

#include <gtest/gtest.h>

namespace stacking {
namespace {

using namespace test;
using node::Lane;
using swarm::Incarnation;

class RunViewTest : public testing::Test {
 protected:
    Actions wake(TimePoint now) {
        Actions actions;
        view_.wake(actions.at(now));
        return actions;
    }

    template <class Event>
    Actions on(const Event& event, TimePoint now = kStart) {
        Actions actions;
        taken_ = view_.on(event, actions.at(now));
        return actions;
    }

    void connect(Incarnation incarnation = {5}, TimePoint now = kStart) {
        wake(now);
        on(node::LinkUp{kCoordinator, Lane::Control, incarnation, true}, now);
        on(node::LinkUp{kCoordinator, Lane::Bulk, incarnation, true}, now);
    }

    RunView view_{PeerId{}, "here:7117"};
    bool taken_ = false;
};

TEST_F(RunViewTest, DialsBothLanesOfWhoeverIsAtTheAddress) {
    const auto dials = wake(kStart).all<node::Dial>();
    ASSERT_EQ(dials.size(), 2U);
    for (const node::Dial& dial : dials) {
        EXPECT_EQ(dial.peer, PeerId{});
        EXPECT_EQ(dial.address, "here:7117");
    }
    EXPECT_NE(dials[0].lane, dials[1].lane);
    EXPECT_EQ(view_.next_deadline(), swarm::kNever);
}

TEST_F(RunViewTest, JoinsAsAClientOnceTheControlLinkIsUp) {
    wake(kStart);
    const auto joins =
        on(node::LinkUp{kCoordinator, Lane::Control, {5}, true}).sent<protocol::Join>(kCoordinator);
    ASSERT_EQ(joins.size(), 1U);
    EXPECT_TRUE(joins[0].client);
    EXPECT_TRUE(view_.was_reached());
}

TEST_F(RunViewTest, TakesNobodyForTheCoordinatorWhoDialledByHimself) {
    wake(kStart);
    EXPECT_TRUE(on(node::LinkUp{kFirst, Lane::Control, {1}}).sent<protocol::Join>(kFirst).empty());
    EXPECT_FALSE(taken_);
    on(node::LinkUp{kCoordinator, Lane::Control, {5}, true});
    EXPECT_TRUE(taken_);
}

TEST_F(RunViewTest, LearnsTheRunAndItsRoster) {
    connect();
    on(received(kCoordinator, assignment(), 1));
    ASSERT_NE(view_.config(), nullptr);
    EXPECT_EQ(view_.config()->model.context, 4U);
    on(received(kCoordinator, protocol::Roster{3, {member(kFirst)}}, 2));
    EXPECT_TRUE(view_.take_roster_changed());
    EXPECT_FALSE(view_.take_roster_changed());
    EXPECT_NE(view_.roster().find_peer(kFirst), nullptr);
}

TEST_F(RunViewTest, IgnoresAnOlderRoster) {
    connect();
    on(received(kCoordinator, protocol::Roster{3, {member(kFirst)}}, 1));
    view_.take_roster_changed();
    on(received(kCoordinator, protocol::Roster{2, {}}, 2));
    EXPECT_FALSE(view_.take_roster_changed());
    EXPECT_NE(view_.roster().find_peer(kFirst), nullptr);
}

TEST_F(RunViewTest, ReportsARunFileThatItCannotRead) {
    connect();
    protocol::Assign assign;
    assign.run_file = "stages = \"many\"";
    on(received(kCoordinator, assign, 1));
    EXPECT_TRUE(view_.fatal());
}

TEST_F(RunViewTest, BeatsEveryTwoSecondsWithTheNumberOfItsRoster) {
    connect();
    on(received(kCoordinator, protocol::Roster{3, {}}, 1));
    EXPECT_EQ(view_.next_deadline(), kStart + 2s);
    const auto beats = wake(kStart + 2s).sent<protocol::Heartbeat>(kCoordinator);
    ASSERT_EQ(beats.size(), 1U);
    EXPECT_EQ(beats[0].roster, 3U);
    EXPECT_EQ(view_.next_deadline(), kStart + 4s);
}

TEST_F(RunViewTest, RepeatsAnUnansweredJoinOnTheNextLink) {
    connect();
    on(node::LinkDown{kCoordinator, Lane::Control}, kStart + 1s);
    EXPECT_EQ(wake(kStart + 2s).all<node::Dial>().size(), 1U);
    const Actions actions = on(node::LinkUp{kCoordinator, Lane::Control, {5}, true}, kStart + 2s);
    EXPECT_EQ(actions.sent<protocol::Join>(kCoordinator).size(), 1U);
    EXPECT_EQ(actions.all<node::Send>()[0].message.number, 1U);
}

TEST_F(RunViewTest, JoinsAgainWhenTheJoinBeforeWasAcknowledged) {
    connect();
    auto assign = received(kCoordinator, assignment(), 1);
    assign.message.acknowledged = 1;
    on(assign);
    on(node::LinkDown{kCoordinator, Lane::Control});
    const Actions actions = on(node::LinkUp{kCoordinator, Lane::Control, {5}, true});
    EXPECT_EQ(actions.sent<protocol::Join>(kCoordinator).size(), 1U);
    EXPECT_EQ(actions.all<node::Send>()[0].message.number, 2U);
}

TEST_F(RunViewTest, TakesTheRosterOfARestartedCoordinatorWhateverItsNumber) {
    connect();
    on(received(kCoordinator, protocol::Roster{9, {member(kFirst)}}, 1));
    on(node::LinkDown{kCoordinator, Lane::Control});
    on(node::LinkUp{kCoordinator, Lane::Control, {6}, true});
    view_.take_roster_changed();
    on(received(kCoordinator, protocol::Roster{1, {member(kSecond)}}, 1));
    EXPECT_TRUE(view_.take_roster_changed());
    EXPECT_EQ(view_.roster().find_peer(kFirst), nullptr);
    EXPECT_NE(view_.roster().find_peer(kSecond), nullptr);
}

TEST_F(RunViewTest, RedialsWithPausesThatDoubleUpToASecond) {
    TimePoint now = kStart;
    for (const auto pause : {100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms}) {
        EXPECT_GE(wake(now).all<node::Dial>().size(), 1U);
        on(node::DialFailed{PeerId{}, Lane::Control, trouble()}, now);
        EXPECT_EQ(view_.next_deadline(), now + pause);
        now += pause;
    }
}

TEST_F(RunViewTest, LooksForAnotherIdentityWhenTheKnownOneIsGone) {
    connect();
    on(node::LinkDown{kCoordinator, Lane::Control});
    on(node::LinkDown{kCoordinator, Lane::Bulk});
    wake(kStart + 1s);
    on(node::DialFailed{kCoordinator, Lane::Control, trouble()}, kStart + 1s);
    on(node::DialFailed{kCoordinator, Lane::Bulk, trouble()}, kStart + 1s);
    const auto dials = wake(kStart + 2s).all<node::Dial>();
    ASSERT_EQ(dials.size(), 2U);
    EXPECT_EQ(dials[0].peer, PeerId{});
}

TEST_F(RunViewTest, ClosesALinkWhoseStreamHasAGap) {
    connect();
    const auto closed = on(received(kCoordinator, protocol::Roster{3, {}}, 2)).all<node::Close>();
    ASSERT_EQ(closed.size(), 1U);
    EXPECT_FALSE(view_.take_roster_changed());
}

TEST_F(RunViewTest, IgnoresEventsOfOtherPeers) {
    connect();
    on(node::LinkUp{kFirst, Lane::Control, {1}});
    EXPECT_FALSE(taken_);
    on(node::LinkDown{kFirst, Lane::Control});
    EXPECT_FALSE(taken_);
    on(received(kFirst, protocol::Roster{3, {}}));
    EXPECT_FALSE(taken_);
}

}  // namespace
}  // namespace stacking

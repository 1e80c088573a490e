#include "stacking/run_watcher.hpp"

#include "tests/unit/stacking/script.hpp"

#include <gtest/gtest.h>

namespace stacking {
namespace {

using namespace test;
using node::Lane;

class RunWatcherTest : public testing::Test {
 protected:
    template <class Event>
    Actions on(Event event, TimePoint now = kStart) {
        Actions actions;
        watcher_.on(node::Event(std::move(event)), now, actions.out);
        return actions;
    }

    Actions connect() {
        on(node::Woke{});
        Actions greeting = on(node::LinkUp{kCoordinator, Lane::Control, {5}, true});
        on(node::LinkUp{kCoordinator, Lane::Bulk, {5}, true});
        return greeting;
    }

    void tell_run() {
        on(received(kCoordinator, assignment(), 1));
        protocol::HeartbeatReply reply;
        reply.version.step = 7;
        reply.loss = 2.5;
        on(received(kCoordinator, reply));
    }

    RunWatcher watcher_{{"here:7117", 10s}};
};

TEST_F(RunWatcherTest, AsksForTheProgressAsSoonAsTheLinkIsUp) {
    const Actions greeting = connect();
    EXPECT_EQ(greeting.sent<protocol::Join>(kCoordinator).size(), 1U);
    EXPECT_EQ(greeting.sent<protocol::Heartbeat>(kCoordinator).size(), 1U);
    EXPECT_FALSE(watcher_.knows_run());
    tell_run();
    ASSERT_TRUE(watcher_.knows_run());
    EXPECT_EQ(watcher_.view().progress()->version.step, 7U);
    EXPECT_EQ(watcher_.view().progress()->loss, 2.5);
    const Actions later = on(node::Woke{}, kStart + 2s);
    EXPECT_EQ(later.sent<protocol::Heartbeat>(kCoordinator).size(), 1U);
}

TEST_F(RunWatcherTest, DialsNoPeerOfTheRoster) {
    connect();
    tell_run();
    const Actions actions =
        on(received(kCoordinator, protocol::Roster{3, {member(kFirst), member(kSecond, 1)}}, 2));
    EXPECT_TRUE(actions.all<node::Dial>().empty());
    EXPECT_EQ(watcher_.view().roster().slots().size(), 2U);
}

TEST_F(RunWatcherTest, GivesUpWhenNobodyHasAnsweredInTime) {
    on(node::Woke{});
    EXPECT_TRUE(on(node::Woke{}, kStart + 9s).told<node::RunFailed>().empty());
    const auto ends = on(node::Woke{}, kStart + 10s).told<node::RunFailed>();
    ASSERT_EQ(ends.size(), 1U);
    EXPECT_EQ(ends[0].exit_code, 4);
    EXPECT_NE(ends[0].text.find("no coordinator at here:7117"), std::string::npos) << ends[0].text;
    EXPECT_EQ(watcher_.next_deadline(), swarm::kNever);
}

TEST_F(RunWatcherTest, GivesUpOnACoordinatorThatTellsNothing) {
    connect();
    const auto ends = on(node::Woke{}, kStart + 10s).told<node::RunFailed>();
    ASSERT_EQ(ends.size(), 1U);
    EXPECT_NE(ends[0].text.find("has not told the run"), std::string::npos) << ends[0].text;
}

TEST_F(RunWatcherTest, StaysOnceItKnowsTheRun) {
    connect();
    tell_run();
    on(node::LinkDown{kCoordinator, Lane::Control});
    EXPECT_TRUE(on(node::Woke{}, kStart + 60s).told<node::RunFailed>().empty());
    EXPECT_FALSE(watcher_.view().is_linked());
    EXPECT_TRUE(watcher_.knows_run());
}

TEST_F(RunWatcherTest, SaysThatTheRunIsFinished) {
    connect();
    tell_run();
    EXPECT_FALSE(watcher_.view().is_finished());
    protocol::Finished finished;
    finished.version.step = 60;
    on(received(kCoordinator, finished, 2));
    EXPECT_TRUE(watcher_.view().is_finished());
    EXPECT_EQ(watcher_.view().progress()->version.step, 60U);
}

TEST_F(RunWatcherTest, TellsWhoeverTakesADirectoryForACoordinator) {
    connect();
    const auto ends =
        on(received(kCoordinator, protocol::Misdirected{protocol::HubKind::Directory}))
            .told<node::RunFailed>();
    ASSERT_EQ(ends.size(), 1U);
    EXPECT_EQ(ends[0].exit_code, 2);
}

TEST_F(RunWatcherTest, TakesNoTensorFromAnybody) {
    connect();
    EXPECT_EQ(watcher_.allowance(kCoordinator).tensor_bytes, 0U);
    EXPECT_EQ(watcher_.allowance(kCoordinator).acquaintance, node::Acquaintance::Partner);
    EXPECT_EQ(watcher_.allowance(kFirst).acquaintance, node::Acquaintance::Stranger);
}

}  // namespace
}  // namespace stacking

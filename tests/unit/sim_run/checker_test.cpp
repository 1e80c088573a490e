#include "sim/run/checker.hpp"

#include "sim/run/run_world.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace sim {
namespace {

using namespace std::chrono_literals;

/// One stage of two peers, so slow that a step outlasts each test, and a second checker, which a
/// test can tell events that did not happen.
class CheckerTest : public testing::Test {
 protected:
    CheckerTest()
        : run_([] {
              RunWorldOptions options;
              options.config = oracle_config(1, 8, 1);
              options.peers = 2;
              options.peer.device.units_per_s = 0.05;
              return options;
          }()),
          checker_(run_.world(), RunWorld::coordinator()) {
        run_.observe_events([this](PeerId at, const node::Event& event) {
            checker_.on_event(at, event);
        });
        run_.observe_sends([this](PeerId from, const node::Send& send) {
            checker_.on_send(from, send);
            const bool launch = std::holds_alternative<swarm::protocol::Forward>(send.message.body);
            if (launch && send.peer == peer(1)) {
                launched_ = {send.peer, send.message, send.payload};
            }
        });
        run_.observe_reports([this](PeerId from, const node::Report& report) {
            checker_.on_report(from, report);
        });
    }

    const swarm::protocol::SlotInfo* slot() {
        return run_.coordinator_role()->context().roster.find_peer(peer(1));
    }

    RunWorld run_;
    Checker checker_;
    std::optional<node::Send> launched_;
};

TEST_F(CheckerTest, TheSlotInWhichAFencedProcessReturnsIsAnother) {
    run_.world().run_for(5s);
    ASSERT_TRUE(launched_ && slot());
    const node::Send before{launched_->peer, launched_->message, launched_->payload};
    const swarm::SlotId first = slot()->slot;
    const swarm::Incarnation process = slot()->incarnation;
    run_.world().freeze(peer(1));
    run_.world().run_for(20s);
    run_.world().thaw(peer(1));
    const auto returned = [&] {
        return slot() && slot()->slot != first &&
               slot()->standing == swarm::protocol::Standing::Member;
    };
    ASSERT_TRUE(run_.world().run_until(returned, 60s));
    ASSERT_EQ(slot()->incarnation, process);
    ASSERT_TRUE(checker_.violations().empty()) << checker_.violations().front();
    checker_.on_send(RunWorld::coordinator(), before);
    ASSERT_EQ(checker_.violations().size(), 1U);
    EXPECT_TRUE(checker_.violations().front().starts_with("P7")) << checker_.violations().front();
}

}  // namespace
}  // namespace sim

// Each kind of fault once, by itself.
#include "tests/unit/sim/recorder.hpp"

#include <gtest/gtest.h>

namespace sim::test {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

// Anna holds a link to Bert; whenever she is asked, she sends him one message.
class Faults : public testing::Test {
 protected:
    Faults() {
        Recorder::Orders orders{{"Woke", node::Dial{kBert, Lane::Control, ""}}};
        for (std::uint64_t i = 0; i < 3; ++i) {
            orders.emplace("Asked 0", message(kBert, i));
        }
        bert_ = add_recorder(world_, kBert, {});
        anna_ = add_recorder(world_, kAnna, orders);
        world_.run_for(1s);
    }

    void let_anna_send_three() {
        world_.ask(kAnna, {swarm::node::DrainRequest{}});
        world_.run_for(0s);
    }

    World world_{World::Options{}};
    std::shared_ptr<Diary> anna_;
    std::shared_ptr<Diary> bert_;
};

const Texts kAllReceived{
    "Woke", "LinkUp 1", "Received 1 #0 0", "Received 1 #1 0", "Received 1 #2 0"};

TEST_F(Faults, ABlockedDirectionHoldsFramesUntilItIsUnblocked) {
    world_.block(kAnna, kBert);
    let_anna_send_three();
    world_.run_for(60s);
    EXPECT_EQ(bert_->texts(), (Texts{"Woke", "LinkUp 1"}));
    world_.unblock(kAnna, kBert);
    world_.run_for(0s);
    EXPECT_EQ(bert_->texts(), kAllReceived);
}

TEST_F(Faults, TheOtherDirectionIsNotBlocked) {
    world_.block(kBert, kAnna);
    let_anna_send_three();
    world_.run_for(1s);
    EXPECT_EQ(bert_->texts(), kAllReceived);
}

TEST_F(Faults, AFrozenPeerHearsEverythingInOrderWhenItThaws) {
    world_.freeze(kBert);
    let_anna_send_three();
    world_.run_for(60s);
    EXPECT_EQ(bert_->texts(), (Texts{"Woke", "LinkUp 1"}));
    world_.thaw(kBert);
    world_.run_for(0s);
    EXPECT_EQ(bert_->texts(), kAllReceived);
}

TEST(FaultsAtOneInstant, AFrameThatWasHeldStaysAheadOfTheNext) {
    // One latency for all: the frames of one turn arrive at one instant.
    World world(World::Options{.network = {.latency_min = 10ms, .latency_max = 10ms}});
    const auto bert = add_recorder(world, kBert, {});
    Recorder::Orders orders{{"Woke", node::Dial{kBert, Lane::Control, ""}}};
    orders.emplace("LinkUp 2", message(kBert, 0));
    orders.emplace("LinkUp 2", message(kBert, 1));
    const auto anna = add_recorder(world, kAnna, orders);
    ASSERT_TRUE(world.run_until([&] { return anna->count("LinkUp 2") > 0; }, 1s));
    world.block(kAnna, kBert);
    const TimePoint arrival = world.now() + 10ms;
    ASSERT_TRUE(world.run_until([&] { return world.now() == arrival; }, 1s));
    world.unblock(kAnna, kBert);  // one frame is held, the other due at this instant
    world.run_for(1s);
    EXPECT_EQ(bert->texts(), (Texts{"Woke", "LinkUp 1", "Received 1 #0 0", "Received 1 #1 0"}));
}

/// Two dials are held; the link of the first is lost in the turn that hears of it.
TEST(FaultsAtOneInstant, ALostLinkIsHeardOfBeforeItsSuccessor) {
    World world(World::Options{});
    world.set_frame_loss(1, 1);
    const auto bert = add_recorder(world, kBert, {{"LinkUp 1", message(kAnna, 0)}});
    const auto anna = add_recorder(
        world,
        kAnna,
        {{"Woke", node::Dial{kBert, Lane::Control, ""}},
         {"DialFailed 2", node::Dial{kBert, Lane::Control, ""}}}
    );
    world.block(kAnna, kBert);
    world.run_for(4s);
    ASSERT_EQ(anna->count("DialFailed 2"), 1U);
    world.unblock(kAnna, kBert);
    world.run_for(1s);
    EXPECT_EQ(bert->texts(), (Texts{"Woke", "LinkUp 1", "LinkDown 1", "LinkUp 1"}));
    EXPECT_EQ(anna->count("LinkUp 2"), 1U);
}

TEST_F(Faults, AStopOfAFrozenPeerWaitsForItsThaw) {
    world_.freeze(kBert);
    world_.stop(kBert);
    world_.run_for(1s);
    EXPECT_TRUE(world_.is_running(kBert));
    world_.thaw(kBert);
    world_.run_for(0s);
    EXPECT_FALSE(world_.is_running(kBert));
    EXPECT_EQ(bert_->count("Stop"), 1U);
}

TEST_F(Faults, AResetLosesFramesOnTheirWay) {
    let_anna_send_three();
    world_.reset_link(kBert, kAnna, Lane::Control);
    world_.run_for(1s);
    EXPECT_EQ(bert_->texts(), (Texts{"Woke", "LinkUp 1", "LinkDown 1"}));
    EXPECT_EQ(anna_->count("LinkDown 2"), 1U);
}

TEST_F(Faults, AResetOfALinkUnderWayAnswersTheDialOnce) {
    World world(World::Options{});
    const auto bert = add_recorder(world, kBert, {});
    const auto anna = add_recorder(world, kAnna, {{"Woke", node::Dial{kBert, {}, ""}}});
    ASSERT_TRUE(world.run_until([&] { return bert->count("LinkUp 1") > 0; }, 1s));
    world.reset_link(kBert, kAnna, Lane::Control);
    world.run_for(10s);
    EXPECT_EQ(anna->texts(), (Texts{"Woke", "DialFailed 2"}));
    EXPECT_EQ(bert->texts(), (Texts{"Woke", "LinkUp 1", "LinkDown 1"}));
}

TEST_F(Faults, FrameLossTakesTheLinkDownOnBothSides) {
    world_.set_frame_loss(1, 1);
    let_anna_send_three();
    world_.run_for(1s);
    EXPECT_EQ(bert_->texts(), (Texts{"Woke", "LinkUp 1", "LinkDown 1"}));
    EXPECT_EQ(anna_->count("LinkDown 2"), 1U);
}

TEST_F(Faults, FrameLossIsOffByDefaultAndAtZero) {
    world_.set_frame_loss(0, 100);
    let_anna_send_three();
    world_.run_for(1s);
    EXPECT_EQ(bert_->texts(), kAllReceived);
}

TEST_F(Faults, ObserversSeeEventsAndMessages) {
    std::size_t events = 0;
    std::size_t messages = 0;
    world_.on_event([&](PeerId, const node::Event&) { ++events; });
    world_.on_send([&](PeerId, const node::Send&) { ++messages; });
    let_anna_send_three();
    world_.run_for(1s);
    EXPECT_EQ(events, 4U);
    EXPECT_EQ(messages, 3U);
}

}  // namespace
}  // namespace sim::test

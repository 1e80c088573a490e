// The way of frames: order, bandwidth, lanes.
#include "tests/unit/sim/recorder.hpp"

#include <gtest/gtest.h>

namespace sim::test {
namespace {

using namespace std::chrono_literals;

constexpr PeerId kCleo = peer(3);
constexpr std::uint64_t kMegabyte = 1'000'000;

class WorldFrames : public testing::Test {
 protected:
    // Without latency only bandwidth takes time.
    World world_{World::Options{.network = {.latency_min = 0s, .latency_max = 0s}}};
};

Recorder::Orders dial_both_lanes(PeerId to) {
    return {{"Woke", node::Dial{to, Lane::Control, ""}}, {"Woke", node::Dial{to, Lane::Bulk, ""}}};
}

double seconds(TimePoint at) {
    return std::chrono::duration<double>(at.time_since_epoch()).count();
}

TEST_F(WorldFrames, AMegabyteTakesASecondAtAMegabytePerSecond) {
    const auto bert = add_recorder(world_, kBert, {});
    Recorder::Orders orders = dial_both_lanes(kBert);
    orders.emplace("LinkUp 2 bulk", tensor(kBert, 1, kMegabyte));
    add_recorder(world_, kAnna, orders, {.up_bytes_per_s = kMegabyte});
    world_.run_for(10s);
    EXPECT_NEAR(seconds(bert->when("Received 1 bulk #1 1000000")), 1.0, 0.001);
}

TEST_F(WorldFrames, TheReceiversLineHoldsThemUpToo) {
    const auto bert =
        add_recorder(world_, kBert, {}, {.up_bytes_per_s = 0, .down_bytes_per_s = kMegabyte});
    for (const PeerId sender : {kAnna, kCleo}) {
        Recorder::Orders orders = dial_both_lanes(kBert);
        orders.emplace("LinkUp 2 bulk", tensor(kBert, 1, kMegabyte));
        add_recorder(world_, sender, orders);
    }
    world_.run_for(10s);
    EXPECT_NEAR(seconds(bert->when("Received 1 bulk #1 1000000")), 2.0, 0.001);
    EXPECT_NEAR(seconds(bert->when("Received 3 bulk #1 1000000")), 2.0, 0.001);
}

// Bytes enter the second line while others leave the first.
TEST_F(WorldFrames, TwoLinesCarryATensorAtOnce) {
    const auto bert =
        add_recorder(world_, kBert, {}, {.up_bytes_per_s = 0, .down_bytes_per_s = kMegabyte});
    Recorder::Orders orders = dial_both_lanes(kBert);
    orders.emplace("LinkUp 2 bulk", tensor(kBert, 1, kMegabyte));
    add_recorder(world_, kAnna, orders, {.up_bytes_per_s = kMegabyte});
    world_.run_for(10s);
    EXPECT_NEAR(seconds(bert->when("Received 1 bulk #1 1000000")), 1.0, 0.002);
}

TEST_F(WorldFrames, TheSlowerOfTwoLinesDecides) {
    const auto bert =
        add_recorder(world_, kBert, {}, {.up_bytes_per_s = 0, .down_bytes_per_s = kMegabyte / 2});
    Recorder::Orders orders = dial_both_lanes(kBert);
    orders.emplace("LinkUp 2 bulk", tensor(kBert, 1, kMegabyte));
    orders.emplace("LinkUp 2 bulk", tensor(kBert, 2, kMegabyte));
    add_recorder(world_, kAnna, orders, {.up_bytes_per_s = kMegabyte});
    world_.run_for(10s);
    EXPECT_NEAR(seconds(bert->when("Received 1 bulk #1 1000000")), 2.0, 0.002);
    EXPECT_NEAR(seconds(bert->when("Received 1 bulk #2 1000000")), 4.0, 0.002);
}

TEST_F(WorldFrames, ACrashCutsATensorWhoseBeginningHasArrived) {
    const auto bert =
        add_recorder(world_, kBert, {}, {.up_bytes_per_s = 0, .down_bytes_per_s = 10 * kMegabyte});
    Recorder::Orders orders = dial_both_lanes(kBert);
    orders.emplace("LinkUp 2 bulk", tensor(kBert, 1, kMegabyte));
    add_recorder(world_, kAnna, orders, {.up_bytes_per_s = kMegabyte});
    world_.run_for(500ms);
    world_.crash(kAnna);
    world_.run_for(10s);
    EXPECT_EQ(bert->count("Received 1 bulk #1 1000000"), 0U);
    EXPECT_EQ(bert->count("LinkDown 1 bulk"), 1U);
}

TEST_F(WorldFrames, ALinkThatIsResetLosesATensorOnBothLines) {
    const auto bert =
        add_recorder(world_, kBert, {}, {.up_bytes_per_s = 0, .down_bytes_per_s = kMegabyte});
    Recorder::Orders orders = dial_both_lanes(kBert);
    orders.emplace("LinkUp 2 bulk", tensor(kBert, 1, kMegabyte));
    add_recorder(world_, kAnna, orders, {.up_bytes_per_s = kMegabyte});
    world_.run_for(500ms);
    world_.reset_link(kAnna, kBert, Lane::Bulk);
    world_.run_for(10s);
    EXPECT_EQ(bert->count("Received 1 bulk #1 1000000"), 0U);
}

TEST_F(WorldFrames, AShortTensorToOnePeerDoesNotWaitForALongOneToAnother) {
    const auto bert = add_recorder(world_, kBert, {});
    const auto cleo = add_recorder(world_, kCleo, {});
    Recorder::Orders orders = dial_both_lanes(kBert);
    orders.emplace("Woke", node::Dial{kCleo, Lane::Bulk, ""});
    orders.emplace("LinkUp 2 bulk", tensor(kBert, 1, 4 * kMegabyte));
    orders.emplace("LinkUp 3 bulk", tensor(kCleo, 1, kMegabyte));
    add_recorder(world_, kAnna, orders, {.up_bytes_per_s = kMegabyte});
    world_.run_for(10s);
    EXPECT_NEAR(seconds(cleo->when("Received 1 bulk #1 1000000")), 2.0, 0.001);
    EXPECT_NEAR(seconds(bert->when("Received 1 bulk #1 4000000")), 5.0, 0.001);
}

TEST_F(WorldFrames, ANewRateCountsAtOnce) {
    const auto bert = add_recorder(world_, kBert, {});
    Recorder::Orders orders = dial_both_lanes(kBert);
    orders.emplace("LinkUp 2 bulk", tensor(kBert, 1, 2 * kMegabyte));
    add_recorder(world_, kAnna, orders, {.up_bytes_per_s = kMegabyte});
    world_.run_for(1s);
    world_.set_rates(kAnna, 10 * kMegabyte, 0);
    world_.run_for(10s);
    EXPECT_NEAR(seconds(bert->when("Received 1 bulk #1 2000000")), 1.1, 0.001);
}

TEST_F(WorldFrames, ControlOvertakesQueuedBulk) {
    const auto bert = add_recorder(world_, kBert, {});
    Recorder::Orders orders = dial_both_lanes(kBert);
    orders.emplace("LinkUp 2 bulk", tensor(kBert, 1, kMegabyte));
    orders.emplace("LinkUp 2 bulk", message(kBert, 2));
    add_recorder(world_, kAnna, orders, {.up_bytes_per_s = kMegabyte});
    world_.run_for(10s);
    EXPECT_LT(seconds(bert->when("Received 1 #2 0")), 0.001);
    EXPECT_NEAR(seconds(bert->when("Received 1 bulk #1 1000000")), 1.0, 0.001);
}

TEST_F(WorldFrames, TheEndOfALinkComesBehindFramesSentBefore) {
    const auto bert = add_recorder(world_, kBert, {});
    Recorder::Orders orders = dial_both_lanes(kBert);
    orders.emplace("LinkUp 2 bulk", tensor(kBert, 1, kMegabyte));
    orders.emplace("LinkUp 2 bulk", node::Close{kBert, Lane::Bulk});
    add_recorder(world_, kAnna, orders, {.up_bytes_per_s = kMegabyte});
    world_.run_for(10s);
    EXPECT_EQ(bert->count("Received 1 bulk #1 1000000"), 1U);
    EXPECT_NEAR(seconds(bert->when("LinkDown 1 bulk")), 1.0, 0.001);
}

TEST_F(WorldFrames, ACrashLosesFramesThatHaveNotLeftTheSendersLine) {
    const auto bert = add_recorder(world_, kBert, {});
    Recorder::Orders orders = dial_both_lanes(kBert);
    orders.emplace("LinkUp 2 bulk", tensor(kBert, 1, kMegabyte));
    orders.emplace("LinkUp 2 bulk", tensor(kBert, 2, kMegabyte));
    add_recorder(world_, kAnna, orders, {.up_bytes_per_s = kMegabyte});
    world_.run_for(1500ms);
    world_.crash(kAnna);
    world_.run_for(10s);
    EXPECT_EQ(bert->count("Received 1 bulk #1 1000000"), 1U);
    EXPECT_EQ(bert->count("Received 1 bulk #2 1000000"), 0U);
    EXPECT_NEAR(seconds(bert->when("LinkDown 1 bulk")), 1.5, 0.001);
}

TEST_F(WorldFrames, CountsTheBytesOfBothSides) {
    add_recorder(world_, kBert, {});
    Recorder::Orders orders = dial_both_lanes(kBert);
    orders.emplace("LinkUp 2 bulk", tensor(kBert, 1, kMegabyte));
    add_recorder(world_, kAnna, orders);
    world_.run_for(1s);
    EXPECT_GT(world_.bytes_sent(kAnna), kMegabyte);
    EXPECT_EQ(world_.bytes_received(kBert), world_.bytes_sent(kAnna));
}

TEST(World, MessagesOfALinkArriveInOrderAtAnyLatency) {
    World world(World::Options{});
    const auto bert = add_recorder(world, kBert, {});
    Recorder::Orders orders = dial_both_lanes(kBert);
    for (std::uint64_t i = 0; i < 100; ++i) {
        orders.emplace("LinkUp 2", message(kBert, i));
    }
    add_recorder(world, kAnna, orders);
    world.run_for(10s);
    std::vector<std::string> received;
    std::vector<std::string> sent;
    for (std::uint64_t i = 0; i < 100; ++i) {
        sent.push_back("Received 1 #" + std::to_string(i) + " 0");
    }
    for (const std::string& text : bert->texts()) {
        if (text.starts_with("Received")) {
            received.push_back(text);
        }
    }
    EXPECT_EQ(received, sent);
}

TEST(World, ASendWithoutALinkVanishes) {
    World world(World::Options{});
    const auto bert = add_recorder(world, kBert, {});
    add_recorder(world, kAnna, {{"Woke", message(kBert, 1)}, {"Woke", node::Dial{kBert, {}, ""}}});
    world.run_for(10s);
    EXPECT_EQ(bert->count("Received 1 #1 0"), 0U);
    EXPECT_EQ(bert->count("LinkUp 1"), 1U);
}

}  // namespace
}  // namespace sim::test

#include "sim/clock.hpp"

#include "tests/start.hpp"
#include "tests/unit/sim/recorder.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

using namespace std::chrono_literals;
using swarm::test::kStart;

TEST(Clock, WithoutOptionsShowsTheWorldsTime) {
    const Clock clock({}, 0);
    EXPECT_EQ(clock.local_time(kStart + 5s), kStart + 5s);
    EXPECT_EQ(clock.world_time(kStart + 5s), kStart + 5s);
}

TEST(Clock, AnOffsetStaysTheSame) {
    const Clock clock(-1h, 0);
    EXPECT_EQ(clock.local_time(kStart), kStart - 1h);
    EXPECT_EQ(clock.local_time(kStart + 2h), kStart + 1h);
    EXPECT_EQ(clock.world_time(kStart + 1h), kStart + 2h);
}

TEST(Clock, DriftGrowsWithTime) {
    const Clock fast({}, 100);
    EXPECT_EQ(fast.local_time(kStart + 1h) - kStart, 1h + 360ms);
    const Clock slow({}, -100);
    EXPECT_EQ(slow.local_time(kStart + 1h) - kStart, 1h - 360ms);
}

TEST(Clock, ADeadlineComesAtTheFirstMomentThatShowsIt) {
    for (const double ppm : {0.001, -0.001, 0.999, -50.0, 200.0, 300'000.0, -300'000.0}) {
        const Clock clock(17min + 3ns, ppm);
        for (Duration at = 18min; at < 20h; at = at * 3 + 7ns) {
            const TimePoint due = clock.world_time(kStart + at);
            EXPECT_GE(clock.local_time(due), kStart + at) << ppm;
            EXPECT_LT(clock.local_time(due - 1ns), kStart + at) << ppm;
        }
    }
}

TEST(Clock, NeverAndAtOnceHaveNoOffset) {
    const Clock clock(1h, 0.05);
    EXPECT_EQ(clock.world_time(swarm::kNever), swarm::kNever);
    EXPECT_EQ(clock.world_time(swarm::kAtOnce), swarm::kAtOnce);
}

TEST(Clock, NeverGoesBack) {
    const Clock clock({}, -999'999.999);
    TimePoint last = clock.local_time(kStart);
    for (Duration at{}; at < 3s; at += 1ms + 1ns) {
        EXPECT_GE(clock.local_time(kStart + at), last);
        last = clock.local_time(kStart + at);
    }
}

TEST(WorldClocks, ARoleSeesItsOwnClockAndTheOthersDoNot) {
    World world(World::Options{.network = {.latency_min = 10ms, .latency_max = 10ms}});
    const auto bert = test::add_recorder(world, peer(2), {});
    const auto anna = test::add_recorder(
        world,
        peer(1),
        {{"Woke", node::Dial{peer(2), Lane::Control, ""}}},
        {.clock_offset = -1h, .clock_drift_ppm = 500'000}
    );
    world.run_for(1s);
    EXPECT_EQ(anna->when("LinkUp 2"), kStart - 1h + 30ms);
    EXPECT_EQ(bert->when("LinkUp 1"), kStart + 10ms);
    EXPECT_EQ(world.now(), kStart + 1s);
}

TEST(WorldClocks, AJobTakesAsLongAsThePeersClockSays) {
    class Timer final : public node::Role {
     public:
        explicit Timer(Duration& took) : took_(took) {}

        void on(const node::Event& event, TimePoint, node::Outbox& out) override {
            if (const auto* computed = std::get_if<node::Computed>(&event)) {
                took_ = computed->took;
            } else {
                out.actions.emplace_back(test::job(1, 100));
            }
            due_ = swarm::kNever;
        }

        [[nodiscard]] TimePoint next_deadline() const override { return due_; }

     private:
        Duration& took_;
        TimePoint due_ = swarm::kAtOnce;
    };

    World world(World::Options{});
    Duration took{};
    world.add_peer(
        peer(1),
        [&](swarm::Incarnation) { return std::make_unique<Timer>(took); },
        {.device = {.units_per_s = 100}, .clock_offset = 5s, .clock_drift_ppm = 100'000}
    );
    world.run_for(10s);
    EXPECT_EQ(took, 1100ms);
}

TEST(WorldClocks, ADeadlineIsKeptByTheOwnClock) {
    class Sleeper final : public node::Role {
     public:
        explicit Sleeper(std::vector<TimePoint>& woken) : woken_(woken) {}

        void on(const node::Event&, TimePoint now, node::Outbox&) override {
            woken_.push_back(now);
            due_ = now + 1s;
        }

        [[nodiscard]] TimePoint next_deadline() const override { return due_; }

     private:
        std::vector<TimePoint>& woken_;
        TimePoint due_ = swarm::kAtOnce;
    };

    World world(World::Options{});
    std::vector<TimePoint> woken;
    world.add_peer(
        peer(1),
        [&](swarm::Incarnation) { return std::make_unique<Sleeper>(woken); },
        {.clock_offset = 7s, .clock_drift_ppm = 250'000}
    );
    world.run_for(4s);
    // Five of its seconds pass in four of ours.
    EXPECT_EQ(
        woken,
        (std::vector<TimePoint>{
            kStart + 7s, kStart + 8s, kStart + 9s, kStart + 10s, kStart + 11s, kStart + 12s})
    );
}

}  // namespace
}  // namespace sim

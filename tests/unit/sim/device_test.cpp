#include "sim/device.hpp"

#include "tests/start.hpp"
#include "tests/unit/sim/recorder.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

using namespace std::chrono_literals;
using swarm::test::kStart;

Device device_with_job(const DeviceOptions& options, double work_units) {
    Device device(options, swarm::Rng(1, 1));
    device.add(test::job(1, work_units));
    return device;
}

TEST(Device, TakesWorkBySpeedAndTheOverhead) {
    Device device = device_with_job({.units_per_s = 100, .overhead = 5ms}, 20);
    device.start_next(kStart, {});
    EXPECT_EQ(device.done_at() - kStart, 205ms);
}

TEST(Device, WithoutASpeedTakesTheOverheadOnly) {
    Device device = device_with_job({.overhead = 5ms}, 20);
    device.start_next(kStart, {});
    EXPECT_EQ(device.done_at() - kStart, 5ms);
}

TEST(Device, AJobThatWouldOverflowTakesTheLongestTimeThereIs) {
    Device device({.units_per_s = 1e-15, .jitter = 10}, swarm::Rng(1, 1));
    device.add(test::job(1, 1e12));
    device.start_next(kStart, {});
    EXPECT_GE(device.done_at() - kStart, kLongestJob);
    EXPECT_LE(device.done_at() - kStart, 2 * kLongestJob);
}

TEST(Device, JitterOnlyAddsAndUpToItsFraction) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        Device device({.units_per_s = 1000, .jitter = 0.5}, swarm::Rng(seed, 0));
        device.add(test::job(1, 10));
        device.start_next(kStart, {});
        EXPECT_GE(device.done_at() - kStart, 10ms) << "seed " << seed;
        EXPECT_LE(device.done_at() - kStart, 15ms) << "seed " << seed;
    }
}

TEST(Device, AChangeOfSpeedCountsFromTheNextJobOn) {
    Device device = device_with_job({.units_per_s = 100}, 10);
    device.add(test::job(2, 10));
    device.start_next(kStart, {});
    device.set_speed(10);
    EXPECT_EQ(device.done_at() - kStart, 100ms);
    device.finish(device.done_at());
    device.start_next(kStart, {});
    EXPECT_EQ(device.done_at() - kStart, 1s);
}

TEST(Device, CountsTheWorkOfJobsThatEndedAndNotTheTimeItStoodStill) {
    Device device = device_with_job({.units_per_s = 100}, 20);
    device.start_next(kStart, {});
    device.stand_still(1s);
    EXPECT_EQ(device.worked(), 0ms);
    device.finish(device.done_at());
    EXPECT_EQ(device.worked(), 200ms);
    EXPECT_EQ(device.units_done(), 20);
}

TEST(Device, StallsAsManyJobsAsTold) {
    Device device = device_with_job({.units_per_s = 100}, 1);
    device.add(test::job(2, 1));
    device.stall(3s, 1);
    device.start_next(kStart, {});
    EXPECT_EQ(device.done_at() - kStart, 3010ms);
    device.finish(device.done_at());
    device.start_next(kStart, {});
    EXPECT_EQ(device.done_at() - kStart, 10ms);
}

TEST(Device, ACrashTakesAllJobs) {
    Device device = device_with_job({}, 1);
    device.add(test::job(2, 1));
    device.start_next(kStart, {});
    device.crash();
    EXPECT_FALSE(device.is_busy());
    EXPECT_FALSE(device.can_start());
}

}  // namespace
}  // namespace sim

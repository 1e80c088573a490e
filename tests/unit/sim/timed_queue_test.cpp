#include "sim/timed_queue.hpp"

#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sim {
namespace {

using swarm::Duration;
using swarm::TimePoint;

TimePoint at(std::int64_t ns) {
    return TimePoint(Duration(ns));
}

TEST(TimedQueue, AnEmptyQueueIsNeverDue) {
    EXPECT_EQ(TimedQueue<int>().next_time(), swarm::kNever);
}

TEST(TimedQueue, GivesItemsByTime) {
    swarm::Rng rng(1, 1);
    TimedQueue<std::int64_t> queue;
    for (int i = 0; i < 1000; ++i) {
        const auto ns = static_cast<std::int64_t>(rng.below(500));
        queue.push(at(ns), ns);
    }
    std::int64_t last = 0;
    while (!queue.empty()) {
        const TimePoint due = queue.next_time();
        const std::int64_t item = queue.pop();
        EXPECT_EQ(due, at(item));
        EXPECT_LE(last, item);
        last = item;
    }
}

TEST(TimedQueue, GivesItemsOfOneTimeInTheOrderPushed) {
    TimedQueue<int> queue;
    for (int i = 0; i < 100; ++i) {
        queue.push(at(i % 2), i);
    }
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(queue.pop(), i < 50 ? 2 * i : 2 * (i - 50) + 1);
    }
}

TEST(TimedQueue, UrgentItemsComeFirstOfTheirTimeOnlyAndInOrder) {
    TimedQueue<int> queue;
    queue.push(at(5), 3);
    queue.push(at(4), 0);
    queue.push_urgent(at(5), 1);
    queue.push_urgent(at(5), 2);
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(queue.pop(), i);
    }
}

TEST(TimedQueue, ReusesThePlacesOfItemsThatLeft) {
    TimedQueue<int> queue;
    queue.push(at(0), 0);
    for (int i = 1; i < 1000; ++i) {
        queue.push(at(i), i);
        EXPECT_EQ(queue.pop(), i - 1);
    }
    EXPECT_EQ(queue.size(), 1U);
}

}  // namespace
}  // namespace sim

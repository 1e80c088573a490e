#include "swarm/net/device/worker_pool.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace swarm::net {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);
constexpr std::size_t kNoThreshold = 1;
constexpr std::size_t kMuch = Workers::kLeastWork;

/// Waits until `arrived` has reached `count`, and says whether it has in time.
bool wait_for(const std::atomic<std::size_t>& arrived, std::size_t count) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (arrived < count && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::yield();
    }
    return arrived >= count;
}

TEST(WorkerPool, ComputesEachUnitOnce) {
    for (const std::size_t threads : {1U, 2U, 3U, 5U, 9U}) {
        WorkerPool pool(threads, kNoThreshold);
        EXPECT_EQ(pool.threads(), threads);
        for (const std::size_t units : {0U, 1U, 2U, 3U, 7U, 16U, 17U, 40U, 1000U}) {
            std::vector<std::atomic<int>> computed(units);
            pool.split(units, 1, [&](UnitRange range, std::size_t thread) {
                EXPECT_LT(thread, threads);
                for (std::size_t unit = range.begin; unit < range.end; ++unit) {
                    ++computed[unit];
                }
            });
            for (std::size_t unit = 0; unit < units; ++unit) {
                EXPECT_EQ(computed[unit], 1) << "unit " << unit << " of " << units;
            }
        }
    }
}

/// Calls follow each other so closely that a thread comes late to most of them.
TEST(WorkerPool, ALateThreadTakesNothingOfAnotherCall) {
    WorkerPool pool(4, kNoThreshold);
    for (std::size_t call = 0; call < 20'000; ++call) {
        const std::size_t units = 2 + call % 5;
        std::array<std::atomic<std::size_t>, 6> seen{};
        pool.split(units, 1, [&, call](UnitRange range, std::size_t) {
            for (std::size_t unit = range.begin; unit < range.end; ++unit) {
                seen[unit] += call + 1;
            }
        });
        for (std::size_t unit = 0; unit < seen.size(); ++unit) {
            ASSERT_EQ(seen[unit], unit < units ? call + 1 : 0) << "call " << call;
        }
    }
}

TEST(WorkerPool, NoTwoRangesHaveAThreadAtOnce) {
    WorkerPool pool(3, kNoThreshold);
    std::array<std::atomic<bool>, 3> busy{};
    for (int call = 0; call < 2'000; ++call) {
        pool.split(24, 1, [&](UnitRange, std::size_t thread) {
            EXPECT_FALSE(busy[thread].exchange(true));
            busy[thread] = false;
        });
    }
}

/// Each range ends only when all have begun, so this ends in time only if they run at once.
TEST(WorkerPool, AllThreadsComputeAtOnce) {
    for (const std::size_t threads : {2U, 3U, 5U}) {
        WorkerPool pool(threads, kNoThreshold);
        for (int call = 0; call < 20; ++call) {
            std::atomic<std::size_t> arrived{0};
            pool.split(threads, 1, [&](UnitRange, std::size_t) {
                ++arrived;
                EXPECT_TRUE(wait_for(arrived, threads));
            });
        }
    }
}

TEST(WorkerPool, AThreadThatIsHeldUpHoldsUpItsOwnPartOnly) {
    constexpr std::size_t kParts = 2 * Workers::kPartsPerThread;
    WorkerPool pool(2, kNoThreshold);
    for (const std::size_t slow : {std::size_t{0}, kParts / 2, kParts - 1}) {
        std::atomic<std::size_t> others{0};
        pool.split(kParts, 1, [&](UnitRange range, std::size_t) {
            if (range.begin == slow) {
                EXPECT_TRUE(wait_for(others, kParts - 1));
            } else {
                ++others;
            }
        });
    }
}

TEST(WorkerPool, CallersOfSeveralThreadsTakeTurns) {
    WorkerPool pool(3, kNoThreshold);
    std::atomic<int> inside{0};
    const auto call = [&] {
        for (int i = 0; i < 500; ++i) {
            std::vector<int> values(64);
            pool.split(values.size(), 1, [&](UnitRange range, std::size_t) {
                for (std::size_t unit = range.begin; unit < range.end; ++unit) {
                    values[unit] = static_cast<int>(unit);
                }
            });
            inside += std::accumulate(values.begin(), values.end(), 0) == 63 * 32 ? 1 : 0;
        }
    };
    {
        const std::jthread first(call);
        const std::jthread second(call);
    }
    EXPECT_EQ(inside, 1000);
}

TEST(WorkerPool, LittleWorkStaysWithTheCaller) {
    WorkerPool pool(4);
    const auto parts_of = [&](std::size_t units, std::size_t work) {
        std::atomic<std::size_t> parts{0};
        pool.split(units, work, [&](UnitRange, std::size_t) { ++parts; });
        return parts.load();
    };
    EXPECT_EQ(parts_of(1000, 1), 1U);
    EXPECT_EQ(parts_of(2, kMuch / 2), 1U);
    EXPECT_EQ(parts_of(4, kMuch / 2), 2U);
    EXPECT_EQ(parts_of(3, kMuch), 3U);
    EXPECT_EQ(parts_of(1000, kMuch), 4 * Workers::kPartsPerThread);
    EXPECT_EQ(parts_of(0, kMuch), 0U);
}

TEST(OneThread, ComputesEverythingInOneCall) {
    OneThread workers;
    std::vector<std::size_t> calls;
    workers.split(100, kMuch, [&](UnitRange range, std::size_t thread) {
        calls.insert(calls.end(), {range.begin, range.end, thread});
    });
    EXPECT_EQ(calls, (std::vector<std::size_t>{0, 100, 0}));
    EXPECT_EQ(workers.threads(), 1U);
}

}  // namespace
}  // namespace swarm::net

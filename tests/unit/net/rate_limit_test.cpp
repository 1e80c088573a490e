#include "swarm/net/rate_limit.hpp"

#include "tests/start.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace swarm::net {
namespace {

using protocol::Lane;
using std::chrono::milliseconds;
using std::chrono::seconds;
using swarm::test::kStart;

constexpr std::uint64_t kLineRate = 625'000;  // 5 Mb/s
constexpr std::size_t kTensor = 4U << 20;

/// Sends `total` bytes piece by piece from `now` on, and returns when the last piece may pass.
TimePoint send(RateLimit& limit, std::size_t total, TimePoint now) {
    while (total > 0) {
        const std::size_t piece = std::min(total, limit.piece_bytes());
        now = limit.pass(piece, Lane::Bulk, now);
        total -= piece;
    }
    return now;
}

double seconds_of(Duration time) {
    return std::chrono::duration<double>(time).count();
}

TEST(RateLimit, LetsNoMoreThanTheRatePass) {
    for (const std::uint64_t rate : {kLimitedBytesPerSMin, kLineRate, std::uint64_t{125'000'000}}) {
        RateLimit limit(rate);
        const double took = seconds_of(send(limit, kTensor, kStart) - kStart);
        const double wanted = static_cast<double>(kTensor) / static_cast<double>(rate);
        const double slack = seconds_of(RateLimit::kBurst) +
                             static_cast<double>(limit.piece_bytes()) / static_cast<double>(rate);
        EXPECT_LE(took, wanted + 1e-6) << rate;
        EXPECT_GE(took, wanted - slack - 1e-6) << rate;
    }
}

TEST(RateLimit, AnIdleLineSavesUpNoMoreThanABurst) {
    RateLimit limit(kLineRate);
    send(limit, kTensor, kStart);
    const TimePoint later = kStart + seconds(3600);
    const double took = seconds_of(send(limit, kTensor, later) - later);
    EXPECT_GT(took, 0.98 * static_cast<double>(kTensor) / static_cast<double>(kLineRate));
}

TEST(RateLimit, TheControlLaneNeverWaitsAndTheBulkLanePays) {
    RateLimit limit(kLineRate);
    const TimePoint free = send(limit, kTensor, kStart);
    EXPECT_EQ(limit.pass(1'000, Lane::Control, kStart), kStart);
    EXPECT_EQ(limit.pass(kLineRate, Lane::Control, kStart), kStart);
    const double waits = seconds_of(limit.pass(1, Lane::Bulk, free) - free);
    EXPECT_NEAR(
        waits, 1.0 + (1'000.0 + static_cast<double>(limit.piece_bytes())) / kLineRate, 0.01
    );
}

TEST(RateLimit, LinksThatAlwaysAskShareTheRateEvenly) {
    RateLimit limit(kLineRate);
    std::array<TimePoint, 3> next{kStart, kStart, kStart};
    std::array<std::size_t, 3> sent{};
    const TimePoint end = kStart + seconds(10);
    for (;;) {
        const auto first = std::min_element(next.begin(), next.end());
        if (*first >= end) {
            break;
        }
        *first = limit.pass(limit.piece_bytes(), Lane::Bulk, *first);
        sent[static_cast<std::size_t>(first - next.begin())] += limit.piece_bytes();
    }
    for (const std::size_t bytes : sent) {
        // One of them may take the whole burst.
        EXPECT_NEAR(static_cast<double>(bytes), 10.0 * kLineRate / 3, 0.04 * kLineRate);
    }
}

TEST(RateLimit, WithoutABoundNothingWaits) {
    RateLimit limit(0);
    EXPECT_EQ(limit.pass(1ULL << 40, Lane::Bulk, kStart), kStart);
    EXPECT_EQ(limit.pass(1, Lane::Bulk, kStart), kStart);
    EXPECT_EQ(limit.piece_bytes(), 256U << 10);
}

}  // namespace
}  // namespace swarm::net

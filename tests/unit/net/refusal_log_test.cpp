#include "swarm/net/refusal_log.hpp"

#include "tests/start.hpp"

#include <gtest/gtest.h>

namespace swarm::net {
namespace {

using namespace std::chrono_literals;
using swarm::test::kStart;

TEST(RefusalLogTest, GivesTheFirstRefusalOfAnAddressALine) {
    RefusalLog log;
    EXPECT_EQ(
        log.note("10.0.0.1", "another key", kStart),
        "turned a connection from 10.0.0.1 away: another key"
    );
    EXPECT_TRUE(log.note("10.0.0.2", "another key", kStart));
}

TEST(RefusalLogTest, GivesLaterRefusalsOneLinePer30SecondsWithTheirNumber) {
    RefusalLog log;
    log.note("10.0.0.1", "another key", kStart);
    for (TimePoint now = kStart + 1s; now < kStart + 30s; now += 1s) {
        EXPECT_FALSE(log.note("10.0.0.1", "another key", now));
    }
    EXPECT_EQ(
        log.note("10.0.0.1", "no key", kStart + 30s),
        "turned 30 more connections from 10.0.0.1 away, the last because no key"
    );
    EXPECT_FALSE(log.note("10.0.0.1", "no key", kStart + 59s));
    EXPECT_TRUE(log.note("10.0.0.1", "no key", kStart + 60s)->starts_with("turned 2 more "));
}

TEST(RefusalLogTest, HasABoundOfAddressesAndForgetsTheOldOnes) {
    RefusalLog log;
    for (std::size_t i = 0; i < RefusalLog::kAddressesMax; ++i) {
        EXPECT_TRUE(log.note("host " + std::to_string(i), "another key", kStart));
    }
    EXPECT_FALSE(log.note("one more", "another key", kStart + 29s));
    EXPECT_TRUE(log.note("one more", "another key", kStart + 30s));
}

}  // namespace
}  // namespace swarm::net

#include "swarm/cli/serve/lending.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <thread>

namespace swarm::cli {
namespace {

constexpr std::uint32_t kHour = 3600;

TEST(LendingHours, GoOverMidnight) {
    const auto hours = LendingHours::parse("22:00-07:00");
    ASSERT_TRUE(hours.has_value());
    EXPECT_TRUE(hours->contain(22 * kHour));
    EXPECT_TRUE(hours->contain(24 * kHour - 1));
    EXPECT_TRUE(hours->contain(0));
    EXPECT_TRUE(hours->contain(7 * kHour - 1));
    EXPECT_FALSE(hours->contain(7 * kHour));
    EXPECT_FALSE(hours->contain(22 * kHour - 1));
    EXPECT_EQ(hours->begin(), "22:00");
    EXPECT_EQ(hours->end(), "07:00");
}

TEST(LendingHours, LieWithinADay) {
    const auto hours = LendingHours::parse("9:05:30-17:30");
    ASSERT_TRUE(hours.has_value());
    EXPECT_FALSE(hours->contain(9 * kHour + 5 * 60 + 29));
    EXPECT_TRUE(hours->contain(9 * kHour + 5 * 60 + 30));
    EXPECT_TRUE(hours->contain(17 * kHour + 30 * 60 - 1));
    EXPECT_FALSE(hours->contain(17 * kHour + 30 * 60));
    EXPECT_FALSE(hours->contain(0));
    EXPECT_EQ(hours->begin(), "09:05:30");
}

TEST(LendingHours, RefuseWhatIsNone) {
    for (const char* text :
         {"",
          "22:00",
          "22-07",
          "22:00-",
          "-07:00",
          "24:00-07:00",
          "22:60-07:00",
          "22:00-22:00",
          "22:00-07:00-08:00",
          "22:00:00:00-07:00",
          "a:00-07:00",
          "22:0x-07:00",
          "022:00-07:00"}) {
        const auto hours = LendingHours::parse(text);
        ASSERT_FALSE(hours.has_value()) << text;
        EXPECT_EQ(
            hours.error().detail, std::string("wants hours such as 22:00-07:00, not ") + text
        );
    }
}

/// Each thread has a priority of its own, so this one does not change that of the other tests.
TEST(Nice, LowersThePriorityOfTheThreadAndOfThoseThatItMakes) {
    std::thread([] {
        ASSERT_TRUE(be_nice(kNiceMax).has_value());
        std::thread([] { EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), kNiceMax); }).join();
    }).join();
}

}  // namespace
}  // namespace swarm::cli

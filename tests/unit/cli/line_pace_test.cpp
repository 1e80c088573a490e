#include "swarm/cli/terminal/line_pace.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Returns how many lines of `count` come through when one is due every `apart`.
int admitted(LinePace pace, int count, Duration apart) {
    int lines = 0;
    for (int i = 0; i < count; ++i) {
        lines += pace.admits(TimePoint{} + i * apart) ? 1 : 0;
    }
    return lines;
}

TEST(LinePace, AShortRunShowsEveryLineAndALongOneDoesNotFlood) {
    EXPECT_EQ(admitted(LinePace({}), 60, milliseconds(1)), 60);
    // 3,377 steps in 130 s: 60 lines in the first 2.3 s, then one in 10 s.
    EXPECT_EQ(admitted(LinePace({}), 3377, Duration(seconds(130)) / 3377), 60 + 12);
    EXPECT_EQ(admitted(LinePace({}), 200, seconds(10)), 200);
}

TEST(LinePace, KeepsTheNamedPeriodFromTheFirstLineOn) {
    EXPECT_EQ(admitted(LinePace(seconds(2)), 10, seconds(1)), 5);
    EXPECT_EQ(admitted(LinePace(seconds(2)), 10, seconds(3)), 10);
    EXPECT_EQ(admitted(LinePace(Duration::zero()), 1000, Duration::zero()), 1000);
}

}  // namespace
}  // namespace swarm::cli

#include "swarm/cli/terminal/stop_presses.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

using std::chrono::milliseconds;

TEST(StopPresses, ASignalThatComesTwiceIsOnePress) {
    StopPresses presses;
    const TimePoint pressed{milliseconds(7)};
    EXPECT_EQ(presses.note(pressed), StopPress::First);
    EXPECT_EQ(presses.note(pressed), StopPress::Echo);
    EXPECT_EQ(presses.note(pressed + milliseconds(299)), StopPress::Echo);
}

TEST(StopPresses, AHandThatPressesAgainIsHeard) {
    StopPresses presses;
    const TimePoint pressed{};
    presses.note(pressed);
    // Each 100 ms: the fourth signal is 300 ms after the first one, whatever came between.
    EXPECT_EQ(presses.note(pressed + milliseconds(100)), StopPress::Echo);
    EXPECT_EQ(presses.note(pressed + milliseconds(200)), StopPress::Echo);
    EXPECT_EQ(presses.note(pressed + milliseconds(300)), StopPress::Next);
    EXPECT_EQ(presses.note(pressed + milliseconds(301)), StopPress::Echo);
}

}  // namespace
}  // namespace swarm::cli

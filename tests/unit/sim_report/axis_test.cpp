#include "sim/report/axis.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace sim {
namespace {

std::vector<std::string> texts(const std::vector<Tick>& ticks) {
    std::vector<std::string> texts;
    for (const Tick& tick : ticks) {
        texts.push_back(tick.text);
    }
    return texts;
}

TEST(Axis, RoundsUpToARoundFigure) {
    EXPECT_DOUBLE_EQ(rounded_up(0.09), 0.1);
    EXPECT_DOUBLE_EQ(rounded_up(1), 1);
    EXPECT_DOUBLE_EQ(rounded_up(1.1), 2);
    EXPECT_DOUBLE_EQ(rounded_up(2.2), 3);
    EXPECT_DOUBLE_EQ(rounded_up(430), 500);
    EXPECT_DOUBLE_EQ(rounded_up(501), 600);
    EXPECT_DOUBLE_EQ(rounded_up(801), 1000);
}

TEST(Axis, AnEmptyRangeStillHasALength) {
    EXPECT_EQ(rounded_up(0), 1);
    EXPECT_EQ(rounded_up(-3), 1);
    EXPECT_EQ(rounded_up(std::numeric_limits<double>::quiet_NaN()), 1);
}

TEST(Axis, DividesARoundLengthIntoRoundParts) {
    const auto text = [](double value) { return std::to_string(value).substr(0, 4); };
    EXPECT_EQ(
        texts(ticks(1, text)),
        (std::vector<std::string>{"0.00", "0.20", "0.40", "0.60", "0.80", "1.00"})
    );
    EXPECT_EQ(texts(ticks(30, text)), (std::vector<std::string>{"0.00", "10.0", "20.0", "30.0"}));
    EXPECT_EQ(ticks(1000, text).size(), 6U);
    EXPECT_EQ(ticks(8, text).size(), 5U);
}

TEST(Axis, TimesAreOfOneUnit) {
    EXPECT_EQ(
        texts(time_ticks(300)),
        (std::vector<std::string>{"0", "1 min", "2 min", "3 min", "4 min", "5 min"})
    );
}

TEST(Axis, HasTwoToSixTicksForAnyLengthOfARun) {
    for (double seconds = 0.01; seconds < 366 * 86'400.0; seconds *= 1.07) {
        const std::vector<Tick> ticks = time_ticks(seconds);
        EXPECT_GE(ticks.size(), 2U) << seconds;
        EXPECT_LE(ticks.size(), 6U) << seconds;
        EXPECT_EQ(ticks.front().at, 0);
        EXPECT_LE(ticks.back().at, seconds * 1.0001);
    }
}

TEST(Axis, CountsHaveNoFractions) {
    for (const double max : {1.0, 3.0, 7.0, 12.0, 999.0, 1e6}) {
        for (const Tick& tick : count_ticks(max)) {
            EXPECT_EQ(tick.text.find('.'), std::string::npos) << max << ": " << tick.text;
        }
        EXPECT_GE(count_ticks(max).size(), 2U) << max;
    }
}

}  // namespace
}  // namespace sim

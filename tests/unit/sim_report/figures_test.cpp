#include "sim/report/figures.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace sim {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Figures, CountsAreGrouped) {
    EXPECT_EQ(count_text(0), "0");
    EXPECT_EQ(count_text(999), "999");
    EXPECT_EQ(count_text(1000), "1,000");
    EXPECT_EQ(count_text(1234567), "1,234,567");
}

TEST(Figures, NumbersHaveThreeDigits) {
    EXPECT_EQ(number_text(0), "0");
    EXPECT_EQ(number_text(0.12345), "0.123");
    EXPECT_EQ(number_text(1.2345), "1.23");
    EXPECT_EQ(number_text(12.345), "12.3");
    EXPECT_EQ(number_text(123.45), "123");
    EXPECT_EQ(number_text(-1234.5), "-1,235");
    EXPECT_EQ(number_text(1e300), "1e+300");
}

TEST(Figures, RoundingNeverAddsADigit) {
    EXPECT_EQ(number_text(9.999), "10.0");
    EXPECT_EQ(number_text(99.99), "100");
    EXPECT_EQ(number_text(999.9), "1,000");
}

TEST(Figures, TimesTakeTheUnitThatFits) {
    EXPECT_EQ(seconds_text(0), "0 ms");
    EXPECT_EQ(seconds_text(0.42), "420 ms");
    EXPECT_EQ(seconds_text(12.34), "12.3 s");
    EXPECT_EQ(seconds_text(245), "4 min 05 s");
    EXPECT_EQ(seconds_text(3600 * 3 + 60 * 20 + 4), "3 h 20 min");
    EXPECT_EQ(seconds_text(86'400 * 2 + 3600 * 4), "2 d 04 h");
}

TEST(Figures, TimesRoundUpIntoTheNextUnit) {
    EXPECT_EQ(seconds_text(0.9999), "1 s");
    EXPECT_EQ(seconds_text(59.99), "1 min 00 s");
    EXPECT_EQ(seconds_text(3599.9), "1 h 00 min");
    EXPECT_EQ(seconds_text(86'399), "1 d 00 h");
}

TEST(Figures, BytesAreInPowersOfAThousand) {
    EXPECT_EQ(bytes_text(0), "0 B");
    EXPECT_EQ(bytes_text(999), "999 B");
    EXPECT_EQ(bytes_text(1000), "1 kB");
    EXPECT_EQ(bytes_text(12.3e9), "12.3 GB");
    EXPECT_EQ(bytes_text(1.8e19), "18 EB");
}

TEST(Figures, AValueThatIsNoNumberIsADash) {
    for (const double value : {kNan, kInfinity, -kInfinity}) {
        EXPECT_EQ(number_text(value), "-");
        EXPECT_EQ(share_text(value), "-");
        EXPECT_EQ(seconds_text(value), "-");
        EXPECT_EQ(bytes_text(value), "-");
    }
}

TEST(Figures, SharesAreInPercentWithOneDigit) {
    EXPECT_EQ(share_text(0.8126), "81.3 %");
    EXPECT_EQ(share_text(1), "100.0 %");
}

TEST(Figures, HashesKeepTheirLeadingZeros) {
    EXPECT_EQ(hash_text(0xabc), "0000000000000abc");
}

TEST(Figures, EachModeNamesThePartsThatItLeavesOut) {
    EXPECT_NE(mode_text(Mode::Exact).find("every message"), std::string::npos);
    EXPECT_NE(mode_text(Mode::Fluid).find("Left out"), std::string::npos);
}

TEST(Figures, TextCannotLeaveItsPlaceInAPage) {
    EXPECT_EQ(escaped("<b a='1' c=\"2\">&\n"), "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp; ");
    EXPECT_EQ(escaped("größer"), "größer");
}

}  // namespace
}  // namespace sim

#include "swarm/cli/plot/line_plot.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

namespace swarm::cli {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++found;
    }
    return found;
}

/// The points of the only curve.
std::string path_of(const std::string& svg) {
    const std::size_t begin = svg.find(" d=\"") + 4;
    return svg.substr(begin, svg.find('"', begin) - begin);
}

TEST(RoundTicks, AreFewAndRound) {
    EXPECT_EQ(round_ticks(0, 10), (std::vector<double>{0, 2, 4, 6, 8, 10}));
    EXPECT_EQ(round_ticks(-1, 1), (std::vector<double>{-1, -0.5, 0, 0.5, 1}));
    EXPECT_EQ(round_ticks(3, 3), (std::vector<double>{3}));
    for (const double most : {1e-9, 0.3, 7.0, 123456.0, 1e12}) {
        const std::size_t ticks = round_ticks(0, most).size();
        EXPECT_GE(ticks, 3U) << most;
        EXPECT_LE(ticks, 7U) << most;
    }
}

TEST(LinePlot, HasACurveAndALegendForEachLine) {
    const std::string svg =
        to_svg({"loss", "step", "loss", false, {{"a", {{1, 3}, {2, 2}}}, {"b", {{1, 4}}}}});
    EXPECT_EQ(count(svg, "<path"), 2U);
    EXPECT_NE(svg.find(">a</text>"), std::string::npos);
    EXPECT_NE(svg.find(">b</text>"), std::string::npos);
    EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST(LinePlot, NamesAreText) {
    const std::string svg = to_svg({"<loss>", "a & b", "y", false, {{"run\"<script>", {}}}});
    EXPECT_EQ(svg.find("<script>"), std::string::npos);
    EXPECT_NE(svg.find("a &amp; b"), std::string::npos);
}

TEST(LinePlot, ANumberThatIsNotFiniteIsAGap) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    const std::string path =
        path_of(to_svg({"", "", "", false, {{"", {{1, 1}, {2, none}, {3, 1}, {4, 2}}}}}));
    EXPECT_EQ(count(path, "M"), 2U);
    EXPECT_EQ(count(path, "L"), 1U);
}

TEST(LinePlot, ALogarithmicScaleLeavesOutWhatIsNotAboveZero) {
    const std::string path =
        path_of(to_svg({"", "", "", true, {{"", {{1, 1}, {2, 10}, {3, 0}, {4, 100}}}}}));
    EXPECT_EQ(path, " M70.0 430.0 L306.7 235.0 M780.0 40.0");
}

TEST(LinePlot, KeepsThePeaksOfALongLine) {
    PlotLine line;
    for (int i = 0; i < 100'000; ++i) {
        line.points.push_back({static_cast<double>(i), i == 54'321 ? 9.0 : 1.0 + i % 2});
    }
    const std::string path = path_of(to_svg({"", "", "", false, {line}}));
    EXPECT_LE(count(path, "L"), kPointsMax);
    EXPECT_EQ(count(path, " 40.0"), 1U) << "the peak reaches the top of the frame";
}

}  // namespace
}  // namespace swarm::cli

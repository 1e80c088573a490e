#include "tests/bench/quality/curve_svg.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace swarm::bench {
namespace {

std::size_t count_of(const std::string& what, const std::string& text) {
    std::size_t count = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
        ++count;
    }
    return count;
}

SvgPlot one_curve(LossCurve points) {
    return {"title", "description", {{"name", std::move(points)}}};
}

TEST(CurveSvg, PutsTheLowestAndTheHighestPointAtTheFrame) {
    const std::string svg = to_svg(one_curve({{0, 2}, {5, 1.5}, {10, 1}}));
    EXPECT_NE(svg.find("d=\"M52 44L306 182L560 320\""), std::string::npos) << svg;
    for (const char* tick : {">1.0<", ">1.8<", ">2.0<", ">0<", ">2 s<", ">10 s<"}) {
        EXPECT_NE(svg.find(tick), std::string::npos) << tick << "\n" << svg;
    }
    EXPECT_NE(svg.find(">1.000<"), std::string::npos) << "the loss at the end, in the legend";
}

TEST(CurveSvg, BeginsAtARoundFigureBelowTheCurves) {
    const std::string svg = to_svg(one_curve({{0, 5.5}, {60, 1.9}}));
    EXPECT_NE(svg.find(">1.0<"), std::string::npos) << svg;
    EXPECT_NE(svg.find(">6.0<"), std::string::npos) << svg;
    EXPECT_EQ(count_of("class=\"grid\"", svg), 6U);
}

TEST(CurveSvg, ACurveWithoutHeightOrLengthIsDrawn) {
    const std::string svg = to_svg(one_curve({{0, 2}}));
    EXPECT_NE(svg.find("d=\"M52 320\""), std::string::npos) << svg;
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(CurveSvg, EachCurveHasALineInTheLegendAndAStyle) {
    SvgPlot plot = one_curve({{0, 2}, {10, 1}});
    plot.curves.push_back({"other", {{0, 3}, {20, 1}}});
    const std::string svg = to_svg(plot);
    EXPECT_EQ(count_of("class=\"curve s0\"", svg), 2U);
    EXPECT_EQ(count_of("class=\"curve s1\"", svg), 2U);
    EXPECT_NE(svg.find(">name<"), std::string::npos);
    EXPECT_NE(svg.find(">other<"), std::string::npos);
}

TEST(CurveSvg, EscapesWords) {
    const SvgPlot plot{"a < b", "x & y", {{"<script>", {{0, 1}}}}};
    const std::string svg = to_svg(plot);
    EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
    EXPECT_NE(svg.find("x &amp; y"), std::string::npos);
    EXPECT_EQ(svg.find("<script"), std::string::npos);
}

TEST(CurveSvg, StandsAlone) {
    const std::string svg = to_svg(one_curve({{0, 2}, {10, 1}}));
    EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
    EXPECT_EQ(count_of("http", svg), 1U) << "nothing is fetched";
    EXPECT_EQ(count_of("url(", svg), 0U);
    EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos);
}

}  // namespace
}  // namespace swarm::bench

#include "sim/report/plot.hpp"

#include "sim/report/figures.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace sim {
namespace {

Plot two_curves() {
    Plot plot;
    plot.id = "load";
    plot.title = "Load";
    plot.no_data = "nothing there";
    plot.x_max = 100;
    plot.y_max = 1;
    plot.y_text = share_text;
    plot.series = {{"one", {{0, 0}, {50, 0.5}, {100, 1}}}, {"two", {{0, 1}, {50, 1}, {100, 0.25}}}};
    return plot;
}

bool contains(const std::string& html, const std::string& part) {
    return html.find(part) != std::string::npos;
}

TEST(Plot, DrawsEachSeriesInTheCoordinatesOfThePage) {
    const std::string html = to_figure(two_curves());
    EXPECT_TRUE(contains(html, "s0\" d=\"M0.0 200.0L500.0 100.0L1000.0 0.0\"")) << html;
    EXPECT_TRUE(contains(html, "s1\" d=\"M0.0 0.0L500.0 0.0L1000.0 150.0\"")) << html;
}

TEST(Plot, KindsOfEventsAreTroubleOrGain) {
    for (const NoteKind kind :
         {NoteKind::Crash,
          NoteKind::Fenced,
          NoteKind::StageEmpty,
          NoteKind::Partition,
          NoteKind::SlowDown}) {
        EXPECT_EQ(class_of_kind(kind), "trouble") << to_text(kind);
    }
    for (const NoteKind kind : {NoteKind::Join, NoteKind::Thaw, NoteKind::SpeedBack}) {
        EXPECT_EQ(class_of_kind(kind), "gain") << to_text(kind);
    }
    EXPECT_EQ(class_of_kind(NoteKind::Move), "other");
}

TEST(Plot, StairsHoldAValueUntilTheNext) {
    Plot plot = two_curves();
    plot.shape = Plot::Shape::Stairs;
    plot.series = {{"one", {{0, 1}, {50, 0.5}}}};
    EXPECT_TRUE(contains(to_figure(plot), "d=\"M0.0 0.0L500.0 0.0L500.0 100.0L1000.0 100.0\""));
}

TEST(Plot, LeavesAGapWhereThereIsNoNumber) {
    Plot plot = two_curves();
    plot.series[0].points = {
        {0, 0}, {10, 0}, {20, std::numeric_limits<double>::quiet_NaN()}, {30, 0}, {40, 0}};
    const std::string html = to_figure(plot);
    EXPECT_TRUE(contains(html, "M0.0 200.0L100.0 200.0M300.0 200.0L400.0 200.0")) << html;
    EXPECT_FALSE(contains(html, "nan")) << html;
}

TEST(Plot, IsReadByScreenReadersAndReachedByKeyboard) {
    const std::string html = to_figure(two_curves());
    EXPECT_TRUE(
        contains(html, "role=\"img\" tabindex=\"0\" aria-labelledby=\"load-title load-about\"")
    );
    EXPECT_TRUE(contains(html, "<title id=\"load-title\">Load</title>"));
    EXPECT_TRUE(contains(html, "one: mean 50.0 %."));
    EXPECT_TRUE(contains(html, "<summary>The figures as a table</summary>"));
}

TEST(Plot, WithoutAPointSaysSo) {
    Plot plot = two_curves();
    plot.series = {{"one", {}}};
    EXPECT_TRUE(contains(to_figure(plot), "nothing there"));
    EXPECT_FALSE(contains(to_figure(plot), "<svg"));
}

TEST(Plot, EventsAtOnePlaceAreOneLine) {
    Plot plot = two_curves();
    plot.marks.assign(1000, Note{50, NoteKind::Crash, "peer 3"});
    plot.marks.push_back({51, NoteKind::Join, ""});
    const std::string html = to_figure(plot);
    EXPECT_TRUE(contains(html, "class=\"mark trouble\" x1=\"500.0\""));
    EXPECT_TRUE(contains(html, "class=\"mark gain\" x1=\"510.0\""));
    std::size_t count = 0;
    for (std::size_t at = html.find("class=\"mark "); at != std::string::npos;
         at = html.find("class=\"mark ", at + 1)) {
        ++count;
    }
    EXPECT_EQ(count, 2U);
}

TEST(Plot, ManyEventsStepBack) {
    Plot plot = two_curves();
    for (int i = 0; i < 100; ++i) {
        plot.marks.push_back({1.0 * i, NoteKind::Crash, ""});
    }
    EXPECT_TRUE(contains(to_figure(plot), "<g class=\"marks dense\">"));
    plot.marks.resize(3);
    EXPECT_TRUE(contains(to_figure(plot), "<g class=\"marks\">"));
}

TEST(Plot, NamesAreEscaped) {
    Plot plot = two_curves();
    plot.series[0].name = "<script>";
    EXPECT_FALSE(contains(to_figure(plot), "<script>"));
}

TEST(EventFigure, HasARowPerKindAndATickPerPlace) {
    const std::string html = event_figure(
        {{10, NoteKind::Crash, "peer <3>"},
         {10, NoteKind::Crash, "peer 4"},
         {90, NoteKind::Join, ""}},
        100
    );
    EXPECT_TRUE(contains(html, "2 times crash, first at 10 s, last at 10 s")) << html;
    EXPECT_TRUE(contains(html, "10 s: peer &lt;3&gt;; 10 s: peer 4")) << html;
    EXPECT_TRUE(contains(html, "1 times join")) << html;
}

TEST(EventFigure, SaysThatNothingHappened) {
    EXPECT_TRUE(contains(event_figure({}, 100), "Nothing happened"));
}

}  // namespace
}  // namespace sim

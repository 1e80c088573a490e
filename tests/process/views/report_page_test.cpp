// The page of the simulator in a real browser, at two widths, light and dark.
#include "example_report.hpp"
#include "tests/process/views/browser.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace swarm::test {
namespace {

constexpr int kWide = 1280;
constexpr int kNarrow = 400;

class ReportPageTest : public testing::TestWithParam<int> {
 protected:
    /// Opens the page in the browser and returns the name of its file.
    void open(const sim::SimReport& report, Colours colours = Colours::Light) {
        const std::filesystem::path page = folder_.path() / "report.html";
        std::ofstream(page) << sim::to_html(report);
        ASSERT_TRUE(browser_.runs());
        browser_.open(page, GetParam(), colours);
    }

    double number(const std::string& expression) {
        const boost::json::value value = browser_.evaluate(expression);
        EXPECT_TRUE(value.is_number()) << expression;
        return value.is_number() ? value.to_number<double>() : 0;
    }

    /// Checks every plot with curves: each curve lies in its box, spans most of it, and is painted.
    void expect_curves(const std::string& id, std::size_t count) {
        const std::string curves = "[...document.querySelectorAll('#" + id + " .curve')]";
        EXPECT_EQ(number(curves + ".length"), static_cast<double>(count)) << id;
        const std::string narrowest = "Math.min(..." + curves +
                                      ".map(c => c.getBoundingClientRect().width / "
                                      "c.ownerSVGElement.getBoundingClientRect().width))";
        EXPECT_GT(number(narrowest), 0.9) << id;
        EXPECT_LE(number(narrowest), 1.001) << id;
        EXPECT_GT(number("document.querySelector('#" + id + " svg').clientWidth"), 200) << id;
        EXPECT_GT(number("document.querySelector('#" + id + " svg').clientHeight"), 150) << id;
        EXPECT_EQ(number(curves + ".filter(c => getComputedStyle(c).stroke == 'none').length"), 0)
            << id;
    }

    TemporaryFolder folder_;
    Browser browser_{folder_.path()};
};

TEST_P(ReportPageTest, ShowsItsPlotsWithData) {
    for (const sim::SimReport& report : {sim::example_report(), sim::fluid_example_report()}) {
        ASSERT_NO_FATAL_FAILURE(open(report));
        expect_curves("utilisation", 3);
        expect_curves("peers", 3);
        expect_curves("steps", 1);
        expect_curves("bytes", 1);
        EXPECT_EQ(number("document.querySelectorAll('#events .event').length"), 3);
        EXPECT_EQ(number("document.querySelectorAll('#utilisation .mark').length"), 3);
    }
}

TEST_P(ReportPageTest, PaintsTheCurves) {
    ASSERT_NO_FATAL_FAILURE(open(sim::example_report()));
    const std::string with_curves = browser_.screenshot();
    EXPECT_GT(with_curves.size(), 10'000U);
    EXPECT_EQ(browser_.screenshot(), with_curves) << "a page at rest";
    browser_.evaluate(
        "document.querySelectorAll('.curve').forEach(c => c.style.visibility = 'hidden')"
    );
    EXPECT_NE(browser_.screenshot(), with_curves);
}

TEST_P(ReportPageTest, IsNotWiderThanTheScreen) {
    sim::SimReport report = sim::example_report();
    report.question = std::string(300, 'x');  // a long word must not widen the page
    report.violations.assign(3, "I1: " + std::string(400, 'y'));
    ASSERT_NO_FATAL_FAILURE(open(report));
    browser_.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)");
    EXPECT_EQ(number("window.innerWidth"), GetParam());
    EXPECT_LE(number("document.documentElement.scrollWidth"), GetParam());
    EXPECT_LE(number("document.body.scrollWidth"), GetParam());
}

TEST_P(ReportPageTest, KeepsItsTextLegible) {
    ASSERT_NO_FATAL_FAILURE(open(sim::example_report()));
    EXPECT_GE(
        number("Math.min(...[...document.querySelectorAll('span, td, th, dt, dd, p, li, summary')]"
               ".map(e => parseFloat(getComputedStyle(e).fontSize)))"),
        12
    );
    // Letters beside an axis do not lie on each other.
    EXPECT_EQ(
        number("[...document.querySelectorAll('.x')].map(x => [...x.children]"
               ".map(s => s.getBoundingClientRect())).flatMap(r => r.slice(1)"
               ".map((b, i) => b.left - r[i].right)).filter(gap => gap < 2).length"),
        0
    );
}

TEST_P(ReportPageTest, HasALightAndADarkFace) {
    const std::string background = "getComputedStyle(document.body).backgroundColor";
    ASSERT_NO_FATAL_FAILURE(open(sim::example_report()));
    EXPECT_EQ(browser_.evaluate(background).as_string(), "rgb(255, 255, 255)");
    ASSERT_NO_FATAL_FAILURE(open(sim::example_report(), Colours::Dark));
    EXPECT_EQ(browser_.evaluate(background).as_string(), "rgb(15, 20, 25)");
    expect_curves("utilisation", 3);
}

TEST_P(ReportPageTest, LoadsNothingFromElsewhere) {
    ASSERT_NO_FATAL_FAILURE(open(sim::example_report()));
    for (const std::string& url : browser_.requests()) {
        EXPECT_TRUE(url.starts_with("file:") || url.starts_with("data:")) << url;
    }
    EXPECT_GE(browser_.requests().size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Widths,
    ReportPageTest,
    testing::Values(kWide, kNarrow),
    [](const testing::TestParamInfo<int>& width) { return std::to_string(width.param); }
);

}  // namespace
}  // namespace swarm::test

// The page as text; tests/process/report_page_test.cpp opens it in a browser.
#include "example_report.hpp"
#include "sim/report/plot.hpp"

#include <gtest/gtest.h>

#include <regex>

namespace sim {
namespace {

bool has(const std::string& html, const std::string& part) {
    return html.find(part) != std::string::npos;
}

std::size_t count(const std::string& html, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = html.find(part); at != std::string::npos; at = html.find(part, at + 1)) {
        ++found;
    }
    return found;
}

TEST(ReportHtml, NeedsNothingFromElsewhere) {
    const std::string html = to_html(example_report());
    EXPECT_FALSE(has(html, "http:") || has(html, "https:") || has(html, "url(")) << html;
    EXPECT_FALSE(has(html, "<script") || has(html, " src=") || has(html, "@import")) << html;
    EXPECT_TRUE(has(html, "default-src 'none'"));
}

TEST(ReportHtml, HasAllPlotsWithACurveEach) {
    for (const SimReport& report : {example_report(), fluid_example_report()}) {
        const std::string html = to_html(report);
        for (const char* id : {"utilisation", "peers", "steps", "bytes", "events"}) {
            EXPECT_TRUE(has(html, std::string("<figure class=\"plot\" id=\"") + id + "\">")) << id;
        }
        EXPECT_EQ(count(html, "class=\"curve "), 3U + 3U + 1U + 1U);
        EXPECT_FALSE(has(html, "no-data\">")) << html;
    }
}

/// Every stage works in one sample and waits in the next: within a step that is no news.
TEST(ReportHtml, UtilisationIsAMeanOverTwoStepsAtLeast) {
    SimReport report = example_report();
    report.samples.clear();
    for (std::uint32_t i = 0; i <= 600; ++i) {
        report.samples.push_back({6.0 * i, {4}, {i % 2 == 0 ? 0.0 : 1.0}, i / 4, i * 1000U});
    }
    const std::string html = to_html(report);  // a step has 23 s, so that a window has 48 s
    const std::size_t plot = html.find("id=\"utilisation\">");
    const std::size_t begin = html.find("class=\"curve s0\" d=\"", plot);
    const std::string path = html.substr(begin, html.find('"', begin + 20) - begin);
    EXPECT_EQ(count(path, "L"), 74U) << "75 windows of 48 s";
    EXPECT_EQ(count(path, " 100.0"), 75U) << "one half, at the middle of the box: " << path;
    EXPECT_TRUE(has(html, "stage 0: mean 50.0 %"));
}

TEST(ReportHtml, AWordOfATileIsNotBroken) {
    SimReport report = example_report();
    report.policy = "expected_finish";
    EXPECT_TRUE(has(to_html(report), "<dd>expected_<wbr>finish</dd>"));
}

TEST(CompareHtml, SetsPoliciesSideBySide) {
    SimReport other = example_report();
    other.policy = "uniform<";
    other.failure = "a stage had no peer";
    const std::string html = to_html(std::vector<SimReport>{example_report(), other});
    EXPECT_TRUE(has(html, "<th scope=\"row\">iwrr</th>"));
    EXPECT_TRUE(has(html, "<th scope=\"row\">uniform&lt;</th>"));
    EXPECT_TRUE(has(html, "uniform&lt;</strong>: the run failed: a stage had no peer"));
    for (const char* id : {"utilisation", "steps", "bytes"}) {
        EXPECT_TRUE(has(html, std::string("<figure class=\"plot\" id=\"") + id + "\">")) << id;
    }
    EXPECT_EQ(count(html, "class=\"curve "), 6U);
    EXPECT_FALSE(has(html, "http:") || has(html, "https:") || has(html, "<script"));
}

TEST(CompareHtml, DrawsAsManyPoliciesAsThereAreColours) {
    const std::string html = to_html(std::vector<SimReport>(9, example_report()));
    EXPECT_EQ(count(html, "class=\"curve "), 3 * kSeriesMax);
    EXPECT_TRUE(has(html, "The first 8 policies; the table has all."));
    EXPECT_EQ(count(html, "<th scope=\"row\">iwrr</th>"), 9U);
}

TEST(ReportHtml, DrawsRareStepsOfTheFluidModeWithoutGaps) {
    SimReport report = fluid_example_report();
    for (std::size_t i = 0; i < report.samples.size(); ++i) {
        report.samples[i].steps = i / 10;  // most samples see none
    }
    const std::string html = to_html(report);
    EXPECT_TRUE(has(html, "seconds per step: mean 10 min 00 s")) << html;
    const std::regex whole("id=\"steps\">[^]*?class=\"curve s0\" d=\"M[^M\"]*\"");
    EXPECT_TRUE(std::regex_search(html.substr(html.find("id=\"steps\">")), whole)) << "one line";
}

TEST(ReportHtml, SaysModeAndThatNothingWasViolated) {
    const std::string html = to_html(example_report());
    EXPECT_TRUE(has(html, "exact: the production roles"));
    EXPECT_TRUE(has(html, "<td>none</td>"));
    EXPECT_TRUE(has(to_html(fluid_example_report()), "fluid: microbatches are flows"));
}

TEST(ReportHtml, ListsViolationsAndEscapesThem) {
    SimReport report = example_report();
    report.violations = {"I1: <img src=x> & more"};
    const std::string html = to_html(report);
    EXPECT_TRUE(has(html, "I1: &lt;img src=x&gt; &amp; more"));
    EXPECT_FALSE(has(html, "<img"));
    EXPECT_FALSE(has(html, "<td>none</td>"));
}

TEST(ReportHtml, EscapesEveryTextOfAScenario) {
    SimReport report = example_report();
    report.scenario = "</title><b>";
    report.question = "<b>";
    report.policy = "<b>";
    report.notes[0].text = "<b>";
    EXPECT_FALSE(has(to_html(report), "<b>"));
}

TEST(ReportHtml, ManyStagesBecomeLowestMedianAndHighest) {
    SimReport report = example_report();
    for (Sample& sample : report.samples) {
        sample.utilisation_per_stage.assign(32, 0.5);
        sample.peers_per_stage.assign(32, 4);
    }
    const std::string html = to_html(report);
    EXPECT_TRUE(has(html, "median stage"));
    EXPECT_FALSE(has(html, "stage 31"));
}

TEST(ReportHtml, ManyStepsBecomeMeanAndLongest) {
    SimReport report = example_report();
    report.step_seconds.assign(100'000, 1.0);
    report.step_seconds[77] = 9;
    const std::string html = to_html(report);
    EXPECT_TRUE(has(html, "longest of 167 steps"));
    EXPECT_LT(html.size(), 300'000U);
}

TEST(ReportHtml, OfARunWithoutAnythingIsStillAPage) {
    const std::string html = to_html(SimReport{});
    EXPECT_EQ(count(html, "class=\"no-data\""), 5U);
    EXPECT_TRUE(html.ends_with("</html>\n"));
}

TEST(ReportHtml, AnInterruptedRunSaysSo) {
    SimReport report = example_report();
    report.interrupted = true;
    EXPECT_TRUE(has(to_html(report), "Interrupted"));
}

TEST(ReportHtml, ARunThatFailedSaysSo) {
    SimReport report = example_report();
    report.failure = "<b>";
    EXPECT_TRUE(has(to_html(report), "The run failed"));
    EXPECT_FALSE(has(to_html(report), "<b>"));
}

TEST(ReportHtml, EveryElementIsClosed) {
    const std::string html = to_html(example_report());
    for (const char* name :
         {"figure",
          "svg",
          "table",
          "details",
          "section",
          "main",
          "div",
          "ul",
          "dl",
          "title",
          "span",
          "p"}) {
        const std::regex open(std::string("<") + name + "[ >]");
        const auto opened = std::distance(
            std::sregex_iterator(html.begin(), html.end(), open), std::sregex_iterator()
        );
        EXPECT_EQ(static_cast<std::size_t>(opened), count(html, std::string("</") + name + ">"))
            << name;
    }
}

}  // namespace
}  // namespace sim

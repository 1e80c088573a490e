// Runs `swarm sim` like a researcher. Where the fidelity does not matter, the fluid mode is used:
// it takes milliseconds.
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <iterator>

namespace swarm::test {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

constexpr seconds kSimPatience(60);
constexpr const char* kSmall =
    "# Question: Does it run?\nmode = \"fluid\"\nduration = \"10m\"\n\n[pipeline]\nstages = 2\n\n"
    "[[peers]]\ncount = 8\nunits_per_s = 10\n";

class SimTest : public testing::Test {
 protected:
    std::string write(const std::string& name, const std::string& text) {
        const std::filesystem::path path = folder_.path() / name;
        std::ofstream(path) << text;
        return path.string();
    }

    std::string read(const std::string& name) {
        std::ifstream in(folder_.path() / name);
        return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    }

    [[nodiscard]] std::string path(const std::string& name) const {
        return (folder_.path() / name).string();
    }

    std::string out_of(const std::vector<std::string>& arguments) {
        Program program(arguments, folder_.path());
        EXPECT_EQ(program.wait(kSimPatience), 0) << program.err();
        return program.out();
    }

    void expect_refused(const std::vector<std::string>& arguments, const std::string& why) {
        Program program(arguments, folder_.path());
        EXPECT_EQ(program.wait(kSimPatience), 3) << program.err();
        EXPECT_EQ(count_lines(program.err()), 1U) << program.err();
        EXPECT_NE(program.err().find(why), std::string::npos) << program.err();
        EXPECT_EQ(program.out(), "");
    }

    TemporaryFolder folder_;
};

TEST_F(SimTest, ComparesPoliciesOnAPage) {
    const std::string scenario = write("small.toml", kSmall);
    const std::string page = path("compare.html");
    out_of({"sim", "compare", scenario, "--policies", "iwrr,uniform", "--html", page});
    const std::string html = read("compare.html");
    EXPECT_NE(html.find("<th scope=\"row\">iwrr</th>"), std::string::npos);
    EXPECT_NE(html.find("<th scope=\"row\">uniform</th>"), std::string::npos);
    EXPECT_NE(html.find("id=\"utilisation\""), std::string::npos);
}

/// No peer has --service-ms: the speeds are those that the senders measured.
TEST_F(SimTest, RecordsARealRun) {
    const std::string address = "127.0.0.1:" + std::to_string(free_port());
    const std::string report = path("run.json");
    Program coordinator(
        {"train",
         "--model",
         "oracle",
         "--stages",
         "2",
         "--steps",
         "30",
         "--dir",
         path("run"),
         "--json",
         report,
         "--listen",
         address},
        folder_.path()
    );
    ASSERT_TRUE(coordinator.wait_for_text("waiting for ", kSimPatience)) << coordinator.err();
    Program first({"serve", "--join", address}, folder_.path());
    Program second({"serve", "--join", address}, folder_.path());
    ASSERT_EQ(coordinator.wait(kSimPatience), 0) << coordinator.err();
    const std::string scenario = path("scenario.toml");
    out_of({"sim", "record", report, "-o", scenario});
    EXPECT_NE(read("scenario.toml").find("as fast as its senders measured it"), std::string::npos)
        << read("scenario.toml");
    out_of({"sim", scenario, "--json", path("simulated.json")});
    const auto simulated = json::parse(read("simulated.json")).as_object();
    EXPECT_EQ(simulated.at("steps").to_number<int>(), 30);
}

TEST_F(SimTest, ListsTheScenariosOfTheProgram) {
    const std::string list = out_of({"sim", "--list"});
    EXPECT_GE(count_lines(list), 12U) << list;
    EXPECT_EQ(list.find("rejected"), std::string::npos) << list;
    EXPECT_NE(list.find("\nvolunteers "), std::string::npos) << list;
}

TEST_F(SimTest, RunsAScenarioAndLeavesAReport) {
    const std::string text = out_of(
        {"sim",
         write("small.toml", kSmall),
         "--seed",
         "9",
         "--json",
         path("o.json"),
         "--html",
         path("o.html")}
    );
    EXPECT_NE(text.find("Does it run?"), std::string::npos) << text;
    EXPECT_NE(text.find("fluid: microbatches are flows"), std::string::npos) << text;
    const json::object report = json::parse(read("o.json")).as_object();
    EXPECT_EQ(report.at("seed").to_number<int>(), 9);
    EXPECT_EQ(report.at("scenario").as_string(), "small");
    EXPECT_GT(report.at("events_per_s").to_number<double>(), 0);
    EXPECT_GT(report.at("utilisation").to_number<double>(), 0);
    EXPECT_NE(read("o.html").find("<svg"), std::string::npos);
}

TEST_F(SimTest, ManySeedsAreOneTableAndOneArray) {
    const std::string table =
        out_of({"sim", write("small.toml", kSmall), "--seeds", "5", "--json", path("o.json")});
    EXPECT_EQ(count_lines(table), 6U) << table;
    EXPECT_EQ(json::parse(read("o.json")).as_array().size(), 5U);
}

TEST_F(SimTest, ComparesPoliciesInOneTable) {
    const std::string table = out_of(
        {"sim", "compare", write("small.toml", kSmall), "--policies", "iwrr,uniform,shortest_queue"}
    );
    EXPECT_EQ(count_lines(table), 4U) << table;
    EXPECT_NE(table.find("\nshortest_queue "), std::string::npos) << table;
}

TEST_F(SimTest, RefusesAnErrorInOneLine) {
    const std::string small = write("small.toml", kSmall);
    expect_refused({"sim", path("none.toml")}, "no such file");
    expect_refused({"sim", write("cut.toml", std::string(kSmall, 60))}, "cut.toml");
    expect_refused({"sim", write("key.toml", std::string(kSmall) + "colour = 3\n")}, "key.toml:11");
    expect_refused({"sim", small, "--set", "peers=1000000000"}, "peers");
    expect_refused({"sim", small, "--replay", "3"}, "exact");
    expect_refused({"sim", small, "--verify"}, "exact");
    expect_refused({"sim", "compare", small, "--policies", "iwrr,fastest"}, "fastest");
    expect_refused({"sim", "record", small}, "not a report");
}

TEST_F(SimTest, AReplayShowsMessagesAndNothingElse) {
    const std::string small = write("small.toml", kSmall);
    for (const char* other : {"--seeds", "--html"}) {
        Program program({"sim", small, "--replay", "3", other, "2"}, folder_.path());
        EXPECT_EQ(program.wait(kSimPatience), 2) << program.err();
        EXPECT_NE(program.err().find("excludes"), std::string::npos) << program.err();
    }
}

TEST_F(SimTest, AComparedRunThatFailsNamesItsReplay) {
    const std::string far = write(
        "far.toml",
        "duration = \"1h\"\n[pipeline]\nstages = 2\n[[peers]]\ncount = 4\n[regions]\n"
        "latency = \"60s\"\n"
    );
    Program program({"sim", "compare", far, "--policies", "uniform,iwrr"}, folder_.path());
    EXPECT_EQ(program.wait(kSimPatience), 1) << program.err();
    EXPECT_EQ(count_lines(program.out()), 3U) << program.out();
    EXPECT_NE(program.err().find("failed with seed 1"), std::string::npos) << program.err();
    const std::string policy = "--set 'pipeline.policy=uniform' --replay 1";
    EXPECT_NE(program.err().find(policy), std::string::npos) << program.err();
}

TEST_F(SimTest, AnErrorAtALaterSeedKeepsTheReportsBefore) {
    // The second seed has 16,380 peers and some that arrive, which is more than there may be.
    const std::string many = write(
        "many.toml",
        "mode = \"fluid\"\nduration = \"1h\"\n[pipeline]\nstages = 2\n[[peers]]\ncount = 16380\n"
        "[churn]\narrivals_per_hour = 4\n"
    );
    Program program({"sim", many, "--seeds", "6", "--json", path("o.json")}, folder_.path());
    EXPECT_EQ(program.wait(kSimPatience), 3) << program.err();
    EXPECT_NE(program.err().find("more than 16384 peers"), std::string::npos) << program.err();
    EXPECT_EQ(json::parse(read("o.json")).as_object().at("seed").to_number<int>(), 1);
}

TEST_F(SimTest, CtrlCLeavesTheReportOfThePartThatRan) {
    Program program(
        {"sim", write("small.toml", kSmall), "--seeds", "1000000", "--json", path("o.json")},
        folder_.path()
    );
    ASSERT_TRUE(program.wait_for_text("ETA", kSimPatience)) << program.err();
    program.signal(SIGINT);
    EXPECT_EQ(program.wait(kSimPatience), 130) << program.err();
    EXPECT_GE(count_lines(program.out()), 2U);
    EXPECT_GE(json::parse(read("o.json")).as_array().size(), 1U);
}

/// Ctrl-C comes in the middle of the only run, in both modes; the report tells how far it came.
TEST_F(SimTest, CtrlCLeavesTheReportOfTheRunThatItEnds) {
    constexpr double kDayS = 86'400;
    for (const std::string mode : {"exact", "fluid"}) {
        const std::string churn = "[churn]\nmtbf = \"60s\"\nabsence_mean = \"60s\"\n";
        const std::string year = write("year.toml", kSmall + churn);
        Program program(
            {"sim",
             year,
             "--mode",
             mode,
             "--set",
             "duration=300d",
             "--json",
             path("o.json"),
             "--html",
             path("o.html")},
            folder_.path()
        );
        ASSERT_TRUE(program.wait_for_text("ETA", kSimPatience)) << program.err();
        program.signal(SIGINT);
        EXPECT_EQ(program.wait(kSimPatience), 130) << program.err();
        const json::object report = json::parse(read("o.json")).as_object();
        EXPECT_TRUE(report.at("interrupted").as_bool()) << mode;
        EXPECT_GT(report.at("virtual_s").to_number<double>(), 0) << mode;
        EXPECT_LT(report.at("virtual_s").to_number<double>(), 300 * kDayS) << mode;
        EXPECT_NE(program.out().find("INTERRUPTED"), std::string::npos) << program.out();
        EXPECT_NE(read("o.html").find("</html>"), std::string::npos) << mode;
    }
}

TEST_F(SimTest, RecordsARealRunAsAScenario) {
    Program real(
        {"local",
         "--model",
         "oracle",
         "--stages",
         "2",
         "--peers",
         "4",
         "--steps",
         "5",
         "--service-ms",
         "5,5,10",
         "--json",
         path("run.json")},
        folder_.path()
    );
    ASSERT_EQ(real.wait(kSimPatience), 0) << real.err();
    out_of({"sim", "record", path("run.json"), "-o", path("run.toml")});
    const std::string toml = read("run.toml");
    EXPECT_NE(toml.find("stages = 2\n"), std::string::npos) << toml;
    EXPECT_NE(toml.find("steps = 5\n"), std::string::npos) << toml;
    EXPECT_NE(toml.find("count = 1\nunits_per_s = 100\n"), std::string::npos) << toml;
    out_of({"sim", path("run.toml"), "--verify", "--json", path("o.json")});
    const json::object repeated = json::parse(read("o.json")).as_object();
    EXPECT_EQ(repeated.at("mode").as_string(), "exact");
    EXPECT_EQ(repeated.at("steps").to_number<int>(), 5);
    EXPECT_EQ(repeated.at("shares").as_array().size(), 4U);
    out_of({"sim", path("run.toml"), "--mode", "fluid"});
}

}  // namespace
}  // namespace swarm::test

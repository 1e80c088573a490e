#include "tests/process/local_run.hpp"

#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace swarm::test {

LocalRun run_local(std::vector<std::string> flags, std::chrono::seconds deadline) {
    const TemporaryFolder folder;
    const std::filesystem::path json = folder.path() / "report.json";
    std::vector<std::string> arguments{
        "local", "--dir", (folder.path() / "run").string(), "--json", json};
    if (flags.empty() || flags.front().starts_with("--")) {  // there is no run file
        arguments.insert(arguments.end(), {"--model", "oracle"});
    }
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    Program program(std::move(arguments), folder.path());
    LocalRun run;
    run.exit_code = program.wait(deadline);
    run.out = program.out();
    run.err = program.err();
    std::ifstream in(json);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (!text.empty()) {
        run.report = boost::json::parse(text).as_object();
    }
    return run;
}

void expect_exact(const LocalRun& run) {
    EXPECT_EQ(run.exit_code, 0) << run.err;
    ASSERT_TRUE(run.report.contains("verify")) << run.err;
    ASSERT_TRUE(run.report.at("verify").is_object()) << run.err;
    EXPECT_TRUE(run.report.at("verify").at("equal").as_bool()) << run.err;
    EXPECT_EQ(run.report.at("verify").at("single_sha256"), run.report.at("weights_sha256"));
    for (const boost::json::value& step : run.report.at("steps").as_array()) {
        EXPECT_EQ(step.at("counted"), step.at("expected")) << boost::json::serialize(step);
    }
}

}  // namespace swarm::test

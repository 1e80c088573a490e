// `swarm plan` compared with real processes: the step that it predicts for stages of one peer each
// on narrow lines, and the step that they take. Each job is held for a service time, so that the
// speed of this machine does not matter while it is fast enough.
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

namespace swarm::test {
namespace {

namespace json = boost::json;

constexpr double kTolerance = 0.1;  // share of the prediction
constexpr int kSteps = 8;
constexpr std::chrono::seconds kPatience(400);

struct Case {
    int stages;
    std::string codec;
    std::string rate;
    int repeat = 1;              // uses of each layer
    int service_ms = 20;         // time of a forward; a backward takes two
    std::string delay = "10ms";  // one way

    friend std::ostream& operator<<(std::ostream& out, const Case& one) {
        return out << one.stages << " stages, " << one.codec << ", " << one.rate << ", layers "
                   << one.repeat << " times";
    }
};

class PlanAgainstLocal : public testing::TestWithParam<Case> {
 protected:
    /// Each stage has one layer: quick to compute, with activations of 262,144 bytes.
    PlanAgainstLocal() {
        std::ofstream(folder_.path() / "run.toml")
            << "[run]\nname = \"planned\"\nsteps = " << kSteps << "\nstages = " << GetParam().stages
            << "\n[model]\nlayers = " << GetParam().stages << "\nrepeat = " << GetParam().repeat
            << "\n";
    }

    json::object swarm(std::vector<std::string> arguments) {
        const auto file = folder_.path() / (arguments.front() + ".json");
        const std::vector<std::string> run{
            "--codec",
            GetParam().codec,
            "--line-rate",
            GetParam().rate,
            "--peers",
            std::to_string(GetParam().stages),
            "--json",
            file.string()};
        arguments.insert(arguments.begin() + 1, (folder_.path() / "run.toml").string());
        arguments.insert(arguments.end(), run.begin(), run.end());
        Program program(arguments, folder_.path());
        EXPECT_EQ(program.wait(kPatience), 0) << program.err();
        return json::parse(read_text(file)).as_object();
    }

    double planned_s() {
        const std::string layer_ms = std::to_string(3 * GetParam().service_ms);
        std::string layers = layer_ms;
        for (int i = 1; i < GetParam().stages; ++i) {
            layers += "," + layer_ms;
        }
        const std::string delay = GetParam().delay;
        return swarm({"plan", "--latency", delay, "--layer-ms", layers, "--speeds", "1"})
            .at("step_s")
            .to_number<double>();
    }

    /// Returns the median time of a step; the first step waits for links to come up.
    double real_s() {
        const std::string service_ms = std::to_string(GetParam().service_ms);
        const json::object run = swarm(
            {"local", "--line-delay", GetParam().delay, "--service-ms", service_ms, "--verify"}
        );
        std::vector<double> steps;
        for (const json::value& step : run.at("steps").as_array()) {
            steps.push_back(step.at("seconds").to_number<double>());
        }
        EXPECT_EQ(steps.size(), static_cast<std::size_t>(kSteps));
        std::sort(steps.begin() + 1, steps.end());
        return steps.at(1 + (steps.size() - 1) / 2);
    }

    TemporaryFolder folder_;
};

TEST_P(PlanAgainstLocal, AStepTakesThePlannedTime) {
    const double planned = planned_s();
    const double real = real_s();
    std::printf("planned %.3f s, took %.3f s: %.3f\n", planned, real, real / planned);
    EXPECT_NEAR(real, planned, kTolerance * planned);
}

/// Layers that compute 13 times what they hold: four stages that share their weights like that are
/// what SWARM (arXiv 2301.11913) trains over lines of this kind.
INSTANTIATE_TEST_SUITE_P(
    OfSharedLayers, PlanAgainstLocal, testing::Values(Case{4, "none", "200Mb/s", 13, 400, "50ms"})
);

INSTANTIATE_TEST_SUITE_P(
    OnLines,
    PlanAgainstLocal,
    testing::Values(
        Case{2, "none", "10Mb/s"},
        Case{2, "int8", "10Mb/s"},
        Case{2, "int4", "10Mb/s"},
        Case{2, "none", "50Mb/s"},
        Case{3, "none", "10Mb/s"},
        Case{3, "int8", "10Mb/s"},
        Case{3, "int4", "10Mb/s"},
        Case{3, "none", "50Mb/s"}
    )
);

}  // namespace
}  // namespace swarm::test

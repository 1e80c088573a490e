// The simulator and `swarm plan` compared with real processes whose replicas exchange sums or
// changes over slow lines: 4 peers in 2 stages, lines of 10 Mb/s and 10 ms, both modes, three
// codecs, with and without a kill. Each job is held for a service time, so the speed of this
// machine does not matter while it is fast enough. A router that learns may keep a poor or a good
// order for a whole run: of 8 microbatches a step the simulator's seeds make 1.53, 1.70 or 1.77 s.
// So the peers' times differ, because equal peers tie, and a step has 32 microbatches, all of them
// under way, of which the seeds differ by 2 %.
#include "tests/bench/machine_load.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

namespace swarm::test {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

constexpr double kExactTolerance = 0.05;  // share of the real step, fidelity exact
constexpr double kFluidTolerance = 0.08;  // fidelity fluid
constexpr double kPlanTolerance = 0.15;   // the plan is a best case
constexpr seconds kPatience(180);

/// A kill comes when a step begins: while sums are under way it depends on milliseconds whether a
/// kill costs a step. The runs end long enough after the peer has come back.
struct Case {
    std::string mode;
    std::string codec;
    int steps;
    int kill_after_step;  // 0: nothing is killed

    friend std::ostream& operator<<(std::ostream& out, const Case& one) {
        return out << one.mode << ", " << one.codec << (one.kill_after_step > 0 ? ", a kill" : "");
    }
};

class ReplicasAgainstLocal : public testing::TestWithParam<Case> {
 protected:
    json::value swarm(std::vector<std::string> arguments, const std::string& report) {
        const auto file = folder_.path() / report;
        arguments.insert(arguments.end(), {"--json", file.string()});
        Program program(arguments, folder_.path());
        EXPECT_EQ(program.wait(kPatience), 0) << program.err();
        return json::parse(read_text(file));
    }

    static std::vector<std::string> of_the_run() {
        return {
            "--stages",
            "2",
            "--peers",
            "4",
            "--mode",
            GetParam().mode,
            "--codec",
            GetParam().codec,
            "--microbatches",
            "32",
            "--in-flight",
            "32",
            "--line-rate",
            "10Mb/s"};
    }

    json::object real() {
        std::vector<std::string> arguments{"local"};
        const auto run = of_the_run();
        arguments.insert(arguments.end(), run.begin(), run.end());
        arguments.insert(
            arguments.end(),
            {"--steps",
             std::to_string(GetParam().steps),
             "--line-delay",
             "10ms",
             "--service-ms",
             "36,40,44,48",
             "--dir",
             (folder_.path() / "run").string()}
        );
        if (GetParam().kill_after_step > 0) {
            const auto churn = folder_.path() / "churn.toml";
            std::ofstream(churn) << "kill_after_step = " << GetParam().kill_after_step;
            arguments.insert(arguments.end(), {"--churn", churn.string()});
        }
        return swarm(std::move(arguments), "run.json").as_object();
    }

    double simulated_s(const std::string& fidelity) {
        const std::string scenario = (folder_.path() / "run.toml").string();
        const std::string report = (folder_.path() / "run.json").string();
        Program record({"sim", "record", report, "-o", scenario}, folder_.path());
        EXPECT_EQ(record.wait(kPatience), 0) << record.err();
        const json::object sim =
            swarm({"sim", scenario, "--mode", fidelity}, fidelity + ".json").as_object();
        EXPECT_TRUE(sim.at("violations").as_array().empty());
        return sim.at("step_s").at("mean").to_number<double>();
    }

    double planned_s() {
        std::vector<std::string> arguments{"plan"};
        const auto run = of_the_run();
        arguments.insert(arguments.end(), run.begin(), run.end());
        // A stage has three layers; a forward and a backward take three services of 42 ms.
        arguments.insert(arguments.end(), {"--latency", "10ms", "--layer-ms", "42,42,42,42,42,42"});
        return swarm(std::move(arguments), "plan.json").at("step_s").to_number<double>();
    }

    TemporaryFolder folder_;
};

double mean_step_s(const json::object& run) {
    double sum = 0;
    for (const json::value& step : run.at("steps").as_array()) {
        sum += step.at("seconds").to_number<double>();
    }
    return sum / static_cast<double>(run.at("steps").as_array().size());
}

TEST_P(ReplicasAgainstLocal, AStepTakesAsLongAsInTheSimulator) {
    const bench::LoadMeter meter;
    const bool kills = GetParam().kill_after_step > 0;
    const json::object run = real();
    const double foreign = meter.foreign().value_or(0);
    ASSERT_FALSE(run.at("steps").as_array().empty());
    EXPECT_EQ(run.at("kills").to_number<int>(), kills ? 1 : 0);
    const double real_s = mean_step_s(run);
    const double exact_s = simulated_s("exact");
    const double fluid_s = simulated_s("fluid");
    std::printf(
        "step %.3f s, exact %.3f s (%+.1f %%), fluid %.3f s (%+.1f %%)",
        real_s,
        exact_s,
        100 * (exact_s / real_s - 1),
        fluid_s,
        100 * (fluid_s / real_s - 1)
    );
    EXPECT_NEAR(exact_s, real_s, kExactTolerance * real_s);
    EXPECT_NEAR(fluid_s, real_s, kFluidTolerance * real_s);
    if (!kills) {
        const double plan_s = planned_s();
        std::printf(", planned %.3f s (%+.1f %%)", plan_s, 100 * (plan_s / real_s - 1));
        EXPECT_NEAR(plan_s, real_s, kPlanTolerance * real_s);
    }
    std::printf("; others used %.0f %% of the machine\n", 100 * foreign);
}

INSTANTIATE_TEST_SUITE_P(
    OnSlowLines,
    ReplicasAgainstLocal,
    testing::Values(
        Case{"exact", "none", 5, 0},
        Case{"exact", "int8", 7, 0},
        Case{"exact", "int4", 7, 0},
        Case{"sparse", "none", 9, 0},
        Case{"sparse", "int8", 14, 0},
        Case{"sparse", "int4", 14, 0},
        Case{"exact", "none", 6, 3},
        Case{"exact", "int8", 11, 5},
        Case{"exact", "int4", 11, 5},
        Case{"sparse", "none", 10, 5},
        Case{"sparse", "int8", 18, 8},
        Case{"sparse", "int4", 19, 8}
    )
);

}  // namespace
}  // namespace swarm::test

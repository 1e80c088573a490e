// `swarm sim record`.
#include "sim/run/scenario_run.hpp"
#include "sim/scenario/scenario.hpp"
#include "swarm/base/try.hpp"
#include "swarm/base/units.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/sim/recorded_run.hpp"
#include "swarm/cli/sim/sim.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"

#include <filesystem>
#include <iostream>
#include <utility>

namespace swarm::cli {
namespace {

constexpr std::uint64_t kReportBytesMax = std::uint64_t{1} << 30;
/// Each round puts at least one more fault into its place, and usually all: a fault shifts those
/// after it.
constexpr int kRoundsMax = 4;

Result<SimulatedSteps> simulate(const sim::Scenario& scenario) {
    SimulatedSteps steps;
    sim::ExactOptions options;
    options.on_event = [&](sim::RunWorld& run, PeerId, const node::Event&) {
        while (steps.ends_s.size() < run.steps().size()) {
            const double end_s = in_seconds(run.world().now().time_since_epoch());
            if (steps.ends_s.empty()) {
                steps.began_s = end_s - in_seconds(run.steps().front().took);
            }
            steps.ends_s.push_back(end_s);
        }
    };
    SWARM_TRY(sim::run_exact(scenario, scenario.seed, options));
    return steps;
}

/// The scenario, whose faults come in the same steps as in the real run. They stay at their real
/// times where that contradicts itself: a process may seem to end before it came back.
Result<std::string> scenario_of(
    const std::string& report, const std::string& name, Console& console
) {
    SWARM_TRY(std::string text, scenario_of_run(report, name));
    SWARM_TRY(sim::Scenario scenario, sim::parse_scenario(text, name));
    if (!scenario.plan.empty()) {
        console.info("simulates the run a few times, to put its faults into their steps");
    }
    for (int round = 0; round < kRoundsMax && !scenario.plan.empty(); ++round) {
        SWARM_TRY(const SimulatedSteps steps, simulate(scenario));
        SWARM_TRY(std::string next, scenario_of_run(report, name, steps));
        auto placed = sim::parse_scenario(next, name);
        if (next == text || !placed) {
            return text;
        }
        text = std::move(next);
        scenario = std::move(*placed);
    }
    return text;
}

}  // namespace

int record_scenario(const SimRecordOptions& options) {
    Console console;
    const Result<std::string> report = read_file(options.run_file, kReportBytesMax);
    if (!report) {
        return end_with(console, report.error());
    }
    const std::string name = std::filesystem::path(options.run_file).filename().string();
    const Result<std::string> scenario = scenario_of(*report, name, console);
    if (!scenario) {
        return end_with(console, scenario.error());
    }
    if (options.out_file.empty()) {
        std::cout << *scenario << std::flush;
        return kDone;
    }
    return write_text(console, options.out_file, *scenario) ? kDone : kRunFailed;
}

}  // namespace swarm::cli

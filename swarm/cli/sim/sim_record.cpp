// `swarm sim record`.
#include "sim/scenario/scenario.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/sim/recorded_run.hpp"
#include "swarm/cli/sim/sim.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"

#include <filesystem>
#include <iostream>

namespace swarm::cli {
namespace {

constexpr std::uint64_t kReportBytesMax = std::uint64_t{1} << 30;

}  // namespace

int record_scenario(const SimRecordOptions& options) {
    Console console;
    const Result<std::string> report = read_file(options.run_file, kReportBytesMax);
    if (!report) {
        return end_with(console, report.error());
    }
    const std::string name = std::filesystem::path(options.run_file).filename().string();
    const Result<std::string> scenario = scenario_of_run(*report, name);
    if (!scenario) {
        return end_with(console, scenario.error());
    }
    if (const auto readable = sim::parse_scenario(*scenario, name); !readable) {
        return end_with(console, readable.error());
    }
    if (options.out_file.empty()) {
        std::cout << *scenario << std::flush;
        return kDone;
    }
    return write_text(console, options.out_file, *scenario) ? kDone : kRunFailed;
}

}  // namespace swarm::cli

#include "swarm/cli/sim/sim.hpp"

#include "router/policy.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/sim/program_commit.hpp"
#include "swarm/cli/sim/scenario_folder.hpp"
#include "swarm/cli/sim/sim_session.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/cli/terminal/standard_output.hpp"
#include "swarm/cli/terminal/usage.hpp"

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <limits>
#include <optional>

namespace swarm::cli {
namespace {

using Reports = std::vector<sim::SimReport>;

constexpr std::uint64_t kSeedMax = std::numeric_limits<std::int64_t>::max();

int list(Console& console, const std::string& folder) {
    const auto found =
        list_scenarios(folder.empty() ? scenario_folder() : std::filesystem::path(folder));
    if (!found) {
        return end_with(console, found.error());
    }
    std::size_t width = 0;
    for (const ListedScenario& scenario : *found) {
        width = std::max(width, scenario.name.size());
    }
    for (const ListedScenario& scenario : *found) {
        const std::string fill(width - scenario.name.size() + 2, ' ');
        std::cout << printable(scenario.name) << fill << printable(scenario.question) << '\n';
    }
    return kDone;
}

sim::ExactOptions exact_options(const SimFlags& flags) {
    sim::ExactOptions options;
    options.compare_with_single = flags.verify;
    return options;
}

/// Quotes the text for a shell.
std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char letter : text) {
        out += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    }
    return out + "'";
}

/// Prints the seed, the commit, and the command that shows the events before the trouble.
void tell_trouble(Console& console, const SimFlags& flags, const sim::SimReport& report) {
    std::string command = "swarm sim " + quoted(flags.scenario) + " --mode exact";
    for (const auto& [key, value] : flags.settings) {
        command += " --set " + quoted(key + "=" + value);
    }
    command += flags.verify ? " --verify" : "";
    const std::string seed = std::to_string(report.seed);
    const std::string where = " with seed " + seed + ", commit " + program_commit() + ": ";
    console.error(
        report.violations.empty() ? "the run failed" + where + *report.failure
                                  : "violation" + where + report.violations.front()
    );
    console.info("replay: " + command + " --replay " + seed);
}

/// Returns the first report with a violation, or else with a failure; null: there is none.
const sim::SimReport* first_in_trouble(const Reports& reports) {
    const auto end = reports.end();
    auto found = std::find_if(reports.begin(), end, [](const auto& report) {
        return !report.violations.empty();
    });
    if (found == end) {
        found = std::find_if(reports.begin(), end, [](const auto& report) {
            return report.failure.has_value();
        });
    }
    return found == end ? nullptr : &*found;
}

/// Prints and writes the reports. Returns the exit code.
int conclude(
    Console& console, const SimSession& session, const SimFlags& flags, const Reports& reports
) {
    const std::string text =
        reports.size() == 1 ? sim::to_text(reports.front()) : sim::to_table(reports);
    std::cout << printable(text) << std::flush;
    if (const sim::SimReport* const trouble = first_in_trouble(reports)) {
        tell_trouble(console, flags, *trouble);
    }
    const bool written =
        flags.json_file.empty() || write_text(console, flags.json_file, json_of(reports));
    const int exit_code = session.exit_code(reports);
    return exit_code == kDone && !written ? kRunFailed : exit_code;
}

void thin_out(sim::SimReport& report) {
    report.samples = {};
    report.notes = {};
    report.step_seconds = {};
    report.shares = {};
}

/// Returns the report that the page shows: the first one in trouble, or else the first one.
sim::SimReport& shown_of(Reports& reports) {
    const sim::SimReport* const trouble = first_in_trouble(reports);
    const std::ptrdiff_t at = trouble == nullptr ? 0 : trouble - reports.data();
    return reports[static_cast<std::size_t>(at)];
}

/// Adds the report. Only the report that the page shows keeps its curves and events, because those
/// of thousands of seeds would fill the memory.
void keep(Reports& reports, sim::SimReport report) {
    reports.push_back(std::move(report));
    const sim::SimReport& shown = shown_of(reports);
    for (sim::SimReport* one : {&reports.front(), &reports.back()}) {
        if (one != &shown) {
            thin_out(*one);
        }
    }
}

int run_seeds(Console& console, const SimOptions& options, const sim::Scenario& scenario) {
    if (scenario.seed > kSeedMax - options.seeds) {
        return end_with(console, usage("--seeds goes beyond the largest seed; begin lower"));
    }
    SimSession session(console, options.seeds);
    Reports reports;
    std::optional<Error> error;
    // Even after an early Ctrl-C there is a report: the first run ends as soon as it asks.
    std::uint32_t i = 0;
    do {
        const std::uint64_t seed = scenario.seed + i;
        const std::string label = scenario.name + ", seed " + std::to_string(seed);
        auto report = session.run(scenario, seed, label, exact_options(options.flags));
        if (!report) {
            error = report.error();
            break;
        }
        keep(reports, std::move(*report));
    } while (++i < options.seeds && !session.interrupted());
    if (reports.empty()) {
        return end_with(console, *error);
    }
    const int exit_code = conclude(console, session, options.flags, reports);
    const bool written = options.html_file.empty() ||
                         write_text(console, options.html_file, sim::to_html(shown_of(reports)));
    if (error) {
        return end_with(console, *error);  // the reports before it are written all the same
    }
    return exit_code == kDone && !written ? kRunFailed : exit_code;
}

int replay(Console& console, const SimOptions& options, const sim::Scenario& scenario) {
    if (scenario.mode != sim::Mode::Exact) {
        return end_with(
            console,
            usage("--replay shows single messages, which only the exact mode has; add --mode exact")
        );
    }
    SimSession session(console, 1);
    sim::ExactOptions exact = exact_options(options.flags);
    exact.trace_line = [](const std::string& line) {
        std::cout << printable(line) << '\n';
        if (!output_is_taken()) {
            throw OutputLost();
        }
    };
    auto report = session.run(scenario, *options.replay, scenario.name, std::move(exact));
    if (!report) {
        return end_with(console, report.error());
    }
    return conclude(console, session, options.flags, {std::move(*report)});
}

}  // namespace

int simulate(const SimOptions& options) {
    Console console;
    if (options.list) {
        return list(console, options.flags.scenario);
    }
    const Result<sim::Scenario> scenario = load(options.flags);
    if (!scenario) {
        return end_with(console, scenario.error());
    }
    return options.replay ? replay(console, options, *scenario)
                          : run_seeds(console, options, *scenario);
}

int compare_policies(const SimCompareOptions& options) {
    Console console;
    Result<sim::Scenario> scenario = load(options.flags);
    if (!scenario) {
        return end_with(console, scenario.error());
    }
    for (const std::string& policy : options.policies) {
        if (router::make_policy(policy, 1) == nullptr) {
            const std::string known = "; the policies are " + router::policy_names();
            return end_with(console, usage("--policies: \"" + policy + "\" is unknown" + known));
        }
    }
    SimSession session(console, options.policies.size());
    Reports reports;
    for (const std::string& policy : options.policies) {
        scenario->pipeline.policy = policy;
        auto report = session.run(
            *scenario, scenario->seed, scenario->name + ", " + policy, exact_options(options.flags)
        );
        if (!report) {
            return end_with(
                console, report.error()
            );  // an error of the fleet, which all policies meet
        }
        reports.push_back(std::move(*report));
        if (session.interrupted()) {
            break;
        }
    }
    SimFlags flags = options.flags;
    if (const sim::SimReport* const trouble = first_in_trouble(reports)) {
        flags.settings.emplace_back("pipeline.policy", trouble->policy);
    }
    const int exit_code = conclude(console, session, flags, reports);
    const bool written =
        options.html_file.empty() || write_text(console, options.html_file, sim::to_html(reports));
    return exit_code == kDone && !written ? kRunFailed : exit_code;
}

}  // namespace swarm::cli

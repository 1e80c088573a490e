#include "swarm/cli/sim/sim_session.hpp"

#include "sim/fluid/fluid_run.hpp"
#include "sim/report/figures.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/common/clock.hpp"
#include "swarm/cli/sim/scenario_folder.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/stop_presses.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <limits>

namespace swarm::cli {
namespace {

constexpr auto kShowEvery = std::chrono::milliseconds(200);
constexpr auto kLogEvery = std::chrono::seconds(5);  // without a terminal

volatile std::sig_atomic_t signal_caught = 0;
StopPresses simulation_presses;

extern "C" void on_simulation_signal(int number) {
    const StopPress press = simulation_presses.note(clock_now());
    if (press == StopPress::Next) {
        std::_Exit(after_signal(number));
    }
    if (press == StopPress::First) {
        signal_caught = number;
    }
}

double seconds_since(TimePoint start) {
    return std::chrono::duration<double>(clock_now() - start).count();
}

}  // namespace

Result<sim::Scenario> load(const SimFlags& flags) {
    SWARM_TRY(const std::filesystem::path file, find_scenario(flags.scenario, scenario_folder()));
    auto settings = flags.settings;
    if (flags.mode) {
        settings.emplace_back("mode", *flags.mode);
    }
    if (flags.seed) {
        settings.emplace_back("seed", std::to_string(*flags.seed));
    }
    Result<sim::Scenario> scenario = sim::load_scenario(file.string(), settings);
    if (scenario && flags.verify && scenario->mode != sim::Mode::Exact) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            "--verify compares losses, which only the exact mode has; add --mode exact"};
    }
    if (scenario && flags.verify && scenario->pipeline.is_sparse()) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            "--verify compares losses, and no two runs of pipeline.mode \"sparse\" are equal"};
    }
    return scenario;
}

SimSession::SimSession(Console& console, std::size_t runs)
    : console_(console), runs_(runs), started_(clock_now()), shown_(started_) {
    std::signal(SIGINT, on_simulation_signal);
    std::signal(SIGTERM, on_simulation_signal);
}

SimSession::~SimSession() {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
}

Result<sim::SimReport> SimSession::run(
    const sim::Scenario& scenario,
    std::uint64_t seed,
    const std::string& label,
    sim::ExactOptions options
) {
    const TimePoint start = clock_now();
    const sim::Progress progress = [&](double share) { return show_progress(share, label); };
    options.progress = progress;
    Result<sim::SimReport> report = scenario.mode == sim::Mode::Exact
                                        ? sim::run_exact(scenario, seed, options)
                                        : sim::run_fluid(scenario, seed, progress);
    if (report) {
        // The simulator has no clock, so the time of a run is measured here.
        const double took = std::max(seconds_since(start), 1e-9);
        report->events_per_s = static_cast<double>(report->events) / took;
        ++done_;
        show_progress(0, label);  // a short run may have reported no progress
    }
    return report;
}

bool SimSession::interrupted() const {
    return signal_caught != 0;
}

int SimSession::exit_code(const std::vector<sim::SimReport>& reports) const {
    if (interrupted()) {
        return after_signal(signal_caught);
    }
    const bool failed = std::any_of(reports.begin(), reports.end(), [](const auto& report) {
        return !report.violations.empty() || report.failure;
    });
    return failed ? kRunFailed : kDone;
}

bool SimSession::show_progress(double share, const std::string& label) {
    const TimePoint now = clock_now();
    const Duration pause = console_.is_terminal() ? Duration(kShowEvery) : Duration(kLogEvery);
    if (now - shown_ >= pause) {
        shown_ = now;
        const double all =
            (static_cast<double>(done_) + std::clamp(share, 0.0, 1.0)) / static_cast<double>(runs_);
        const double left = all > 0 ? seconds_since(started_) * (1 - all) / all
                                    : std::numeric_limits<double>::quiet_NaN();
        console_.status(
            label + ": " + sim::share_text(all) + " done, ETA " + sim::seconds_text(left)
        );
    }
    return !interrupted();
}

std::string json_of(const std::vector<sim::SimReport>& reports) {
    if (reports.size() == 1) {
        return sim::to_json(reports.front());
    }
    std::string text = "[";
    for (const sim::SimReport& report : reports) {
        text += (text.size() == 1 ? "" : ",") + sim::to_json(report);
    }
    return text + "]\n";
}

}  // namespace swarm::cli

#include "swarm/cli/runs/runs.hpp"

#include "swarm/cli/common/files.hpp"
#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/runs/run_comparison.hpp"
#include "swarm/cli/runs/run_summary.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <utility>

namespace swarm::cli {
namespace {

constexpr const char* kRunsExamples = R"(
examples:
  swarm runs                                  # those in the folder runs
  swarm runs runs/austen /data/runs --json runs.json
  swarm runs --compare runs/a runs/b          # settings that differ, losses at equal steps
state: new, training, stopped (swarm train --resume goes on), ended early (by eval.patience), done
or unreadable.)";

int list_runs(const RunsOptions& options, Console& console) {
    const auto found = find_runs(options.folders);
    if (!found) {
        return end_with(console, found.error());
    }
    std::vector<RunSummary> runs;
    for (const std::filesystem::path& folder : *found) {
        runs.push_back(summarise_run(folder));
        if (runs.back().standing == RunStanding::Unreadable) {
            console.warn(runs.back().trouble);
        }
    }
    std::cout << runs_table(runs) << std::flush;
    const bool kept =
        options.json_file.empty() || write_text(console, options.json_file, runs_json(runs));
    return kept ? kDone : kRunFailed;
}

int show_comparison(const RunsOptions& options, Console& console) {
    const auto first = read_run_files(options.compared[0]);
    if (!first) {
        return end_with(console, first.error());
    }
    const auto second = read_run_files(options.compared[1]);
    if (!second) {
        return end_with(console, second.error());
    }
    RunComparison comparison = compare_runs(*first, *second);
    comparison.first = options.compared[0];
    comparison.second = options.compared[1];
    std::cout << comparison_text(comparison) << std::flush;
    const bool kept = options.json_file.empty() ||
                      write_text(console, options.json_file, comparison_json(comparison));
    return kept ? kDone : kRunFailed;
}

}  // namespace

void add_runs(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(program, "runs", "List runs, or compare two", kRunsExamples);
    const auto options = std::make_shared<RunsOptions>();
    CLI::Option* const folders =
        app.add_option("folders", options->folders, "folders of runs, or folders that hold runs")
            ->type_name("FOLDER")
            ->capture_default_str();
    app.add_option("--compare", options->compared, "two folders of runs")
        ->type_name("RUN")
        ->expected(2)
        ->excludes(folders);
    add_json(app, "write the list, or the comparison", options->json_file);
    when_named<RunsOptions>(app, on_chosen, options, show_runs);
}

int show_runs(const RunsOptions& options) {
    Console console;
    return options.compared.empty() ? list_runs(options, console)
                                    : show_comparison(options, console);
}

}  // namespace swarm::cli

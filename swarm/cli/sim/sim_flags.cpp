#include "swarm/cli/sim/sim_flags.hpp"

#include "router/policy.hpp"
#include "swarm/cli/exit_code.hpp"

#include <CLI/CLI.hpp>

namespace swarm::cli {
namespace {

constexpr const char* kSimExamples = R"(
examples:
  swarm sim --list                                   # the scenarios that come with the program
  swarm sim volunteers --html report.html            # one of them, and a page with plots
  swarm sim my.toml --set peers=1000 --set churn.mtbf=2h --mode fluid
  swarm sim my.toml --seeds 100 --json report.json   # a hundred runs, one row each
  swarm sim my.toml --replay 17                      # what happened before the first violation
exact: the production roles and every message. fluid: microbatches as flows; for large and long.)";

constexpr const char* kCompareExamples = R"(
examples:
  swarm sim compare volunteers --policies iwrr,expected_finish,uniform,shortest_queue)";

constexpr const char* kRecordExamples = R"(
examples:
  swarm local --model oracle --peers 9 --service-ms 50,50,100 --kill-every 20s --json run.json
  swarm sim record run.json -o run.toml && swarm sim run.toml)";

void add_setting(SimFlags& flags, const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
        throw CLI::ValidationError("--set", "wants KEY=VALUE, not " + text);
    }
    flags.settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
}

void add_flags(CLI::App& app, SimFlags& flags) {
    app.add_option("--seed", flags.seed, "of fleet, faults and network")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--mode", flags.mode, "exact or fluid, whatever the scenario says")
        ->check(CLI::IsMember({"exact", "fluid"}));
    app.add_option_function<std::vector<std::string>>(
           "--set",
           [&flags](const std::vector<std::string>& all) {
               for (const std::string& text : all) {
                   add_setting(flags, text);
               }
           },
           "change a key of the scenario, e.g. peers=1000 (repeatable)"
    )
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)  // else the next word, the scenario, were one, too
        ->take_all();
    app.add_flag(
        "--verify", flags.verify, "train in one process, too, and compare every loss, bit for bit"
    );
    app.add_option("--json", flags.json_file, "write the figures")->type_name("FILE");
}

}  // namespace

SimVerbs::SimVerbs(CLI::App& root, const std::string& exit_codes) {
    CLI::App& app = *root.add_subcommand("sim", "Ask what such a swarm would do, on virtual time");
    app.footer(std::string(kSimExamples) + "\n" + exit_codes);
    SimOptions& options = simulate_options_;
    app.add_option("scenario", options.flags.scenario, "a file, or a name that --list shows")
        ->type_name("scenario.toml");
    app.add_flag("--list", options.list, "list the scenarios, or those of the folder named");
    add_flags(app, options.flags);
    CLI::Option* const seeds = app.add_option(
        "--seeds", options.seeds, "run so many seeds from --seed on; curves of one of them"
    );
    seeds->check(CLI::Range(1, 1'000'000))->capture_default_str();
    CLI::Option* const html =
        app.add_option("--html", options.html_file, "write a page with plots");
    html->type_name("FILE");
    app.add_option("--replay", options.replay, "print the events before this seed's violation")
        ->type_name("SEED")
        ->check(CLI::NonNegativeNumber)
        ->excludes(seeds)
        ->excludes(html);
    app.require_subcommand(0, 1);
    app.parse_complete_callback([&app, &options, this] {
        if (!compare_->parsed() && !record_->parsed() && options.flags.scenario.empty() &&
            !options.list) {
            throw CLI::RequiredError(app.get_name() + ": a scenario, or --list");
        }
    });
    add_compare(app, exit_codes);
    add_record(app, exit_codes);
}

void SimVerbs::add_compare(CLI::App& sim, const std::string& exit_codes) {
    compare_ = sim.add_subcommand("compare", "The same scenario with several router policies");
    compare_->footer(std::string(kCompareExamples) + "\n" + exit_codes);
    compare_->add_option("scenario", compare_options_.flags.scenario, "a file or a name")
        ->type_name("scenario.toml")
        ->required();
    compare_->add_option("--policies", compare_options_.policies, "of " + router::policy_names())
        ->type_name("A,B,...")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->required();
    add_flags(*compare_, compare_options_.flags);
}

void SimVerbs::add_record(CLI::App& sim, const std::string& exit_codes) {
    record_ = sim.add_subcommand("record", "Turn a real run into a scenario");
    record_->footer(std::string(kRecordExamples) + "\n" + exit_codes);
    record_->add_option("run", record_options_.run_file, "what `swarm local --json` wrote")
        ->type_name("run.json")
        ->required();
    record_->add_option("-o,--out", record_options_.out_file, "the scenario (default: stdout)")
        ->type_name("FILE");
}

Command SimVerbs::command() const {
    if (compare_->parsed()) {
        return compare_options_;
    }
    if (record_->parsed()) {
        return record_options_;
    }
    return simulate_options_;
}

}  // namespace swarm::cli

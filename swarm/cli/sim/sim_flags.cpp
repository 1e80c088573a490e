#include "router/policy.hpp"
#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/sim/sim.hpp"

#include <CLI/CLI.hpp>
#include <memory>

namespace swarm::cli {
namespace {

constexpr const char* kSimExamples = R"(
examples:
  swarm sim --list                                   # the scenarios that come with the program
  swarm sim volunteers --html report.html            # one of them, and a page with plots
  swarm sim my.toml --set peers=1000 --set churn.mtbf=2h --mode fluid
  swarm sim my.toml --seeds 100 --json report.json   # a hundred runs, one row each
  swarm sim my.toml --replay 17                      # what happened before the first violation
exact: the production roles and every message. fluid: microbatches as flows; for large and long.
sim/scenarios/README.md is the reference of the keys of a scenario.)";

constexpr const char* kCompareExamples = R"(
examples:
  swarm sim compare volunteers --policies iwrr,expected_finish,uniform,shortest_queue
  swarm sim compare volunteers --policies iwrr,uniform --html compare.html)";

constexpr const char* kRecordExamples = R"(
examples:
  swarm local --model oracle --peers 9 --service-ms 50,50,100 --kill-every 20s --json run.json
  swarm sim record run.json -o run.toml && swarm sim run.toml)";

void add_shared_flags(CLI::App& app, SimFlags& flags) {
    app.add_option("--seed", flags.seed, "seed of fleet, faults and network")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--mode", flags.mode, "exact or fluid, whatever the scenario says")
        ->check(CLI::IsMember({"exact", "fluid"}));
    add_settings(app, "change a key of the scenario, e.g. peers=1000", "KEY", flags.settings);
    app.add_flag(
        "--verify", flags.verify, "train in one process, too, and compare every loss, bit for bit"
    );
    add_json(app, "write the figures", flags.json_file);
}

void add_compare(CLI::App& sim, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(
        sim, "compare", "The same scenario with several router policies", kCompareExamples
    );
    const auto options = std::make_shared<SimCompareOptions>();
    app.add_option("scenario", options->flags.scenario, "a file or a name")
        ->type_name("scenario.toml")
        ->required();
    app.add_option("--policies", options->policies, "some of " + router::policy_names())
        ->type_name("A,B,...")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->required();
    add_shared_flags(app, options->flags);
    app.add_option("--html", options->html_file, "write a page with the figures side by side")
        ->type_name("FILE");
    when_named<SimCompareOptions>(app, on_chosen, options, compare_policies);
}

void add_record(CLI::App& sim, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(sim, "record", "Turn a real run into a scenario", kRecordExamples);
    const auto options = std::make_shared<SimRecordOptions>();
    app.add_option(
           "run", options->run_file, "what `swarm local --json` or `swarm train --json` wrote"
    )
        ->type_name("run.json")
        ->required();
    app.add_option("-o,--out", options->out_file, "the scenario (default: stdout)")
        ->type_name("FILE");
    when_named<SimRecordOptions>(app, on_chosen, options, record_scenario);
}

}  // namespace

void add_sim(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(program, "sim", "Ask what such a swarm would do, on virtual time", kSimExamples);
    const auto options = std::make_shared<SimOptions>();
    app.add_option("scenario", options->flags.scenario, "a file, or a name that --list shows")
        ->type_name("scenario.toml");
    app.add_flag("--list", options->list, "list the scenarios, or those of the folder named");
    add_shared_flags(app, options->flags);
    CLI::Option* const seeds = app.add_option(
        "--seeds",
        options->seeds,
        "run so many seeds from --seed on; show the curves of one of them"
    );
    seeds->check(CLI::Range(1, 1'000'000))->capture_default_str();
    CLI::Option* const html =
        app.add_option("--html", options->html_file, "write a page with plots");
    html->type_name("FILE");
    app.add_option(
           "--replay", options->replay, "print the events before the violation of this seed"
    )
        ->type_name("SEED")
        ->check(CLI::NonNegativeNumber)
        ->excludes(seeds)
        ->excludes(html);
    app.require_subcommand(0, 1);
    when_named(app, [&app, on_chosen, options] {
        if (options->flags.scenario.empty() && !options->list) {
            throw CLI::RequiredError(app.get_name() + ": a scenario, or --list");
        }
        on_chosen(ChosenVerb(*options, simulate));
    });
    add_compare(app, on_chosen);
    add_record(app, on_chosen);
}

}  // namespace swarm::cli

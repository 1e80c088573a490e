#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/status/status.hpp"

#include <CLI/CLI.hpp>
#include <memory>

namespace swarm::cli {
namespace {

constexpr const char* kStatusExamples = R"(
examples:
  swarm status --join 192.168.1.7:7117            # step, losses, and who serves which layers
  swarm status --join 192.168.1.7:7117 --watch    # a line per step, until the run ends
  swarm status --join 192.168.1.7 --json status.json
Runs on this machine, also those that have ended, are listed by swarm runs.)";

}  // namespace

void add_status(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(program, "status", "Show a run that trains", kStatusExamples);
    const auto options = std::make_shared<StatusOptions>();
    app.add_option("--join", options->join, "the coordinator of the run")
        ->type_name("[NAME@]HOST[:PORT]")
        ->required();
    app.add_flag("--watch", options->watch, "go on until the run ends");
    const auto set_wait = [options](Duration wait) { options->wait = wait; };
    add_duration(app, "--wait", "how long to wait for the first answer (10s)", set_wait);
    add_forget(app, options->owner.forget);
    add_swarm_key(app, "the secret of a private run", options->swarm_key_file);
    add_json(app, "write the state of the run, at the end with --watch", options->json_file);
    when_named(app, [on_chosen, options] {
        split_join(options->join, options->owner, kCoordinatorPort);
        on_chosen(ChosenVerb(*options, show_status));
    });
}

}  // namespace swarm::cli

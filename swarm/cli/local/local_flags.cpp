#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/local/local.hpp"

#include <CLI/CLI.hpp>
#include <memory>

namespace swarm::cli {
namespace {

constexpr const char* kLocalExamples = R"(
examples:
  swarm local --stages 3 --peers 6 --steps 60 --verify
  swarm local --model oracle --stages 2 --peers 4 --service-ms 20 --kill-every 3s --verify
  swarm local --stages 3 --peers 9 --steps 200 --churn default --verify
  swarm local --mode sparse --stages 2 --peers 6 --kill-every 3s
  swarm local --stages 2 --peers 2 --codec int8 --line-rate 10Mb/s --line-delay 20ms
  swarm local --stages 3 --peers 9 --churn default --http 7180   # http://127.0.0.1:7180/ shows it
  swarm local --demo --prompt "It is a truth"
  swarm local --model smollm2 --stages 3 --peers 6 --prompt "Tell me a story" --verify
  swarm local --model smollm2 --prompt "Tell me a story" --kill-every 1s
  swarm local --stack two.toml --peers 4 --prompt "It is a truth" --verify
  swarm local --model smollm2 --stages 3 --peers 6 --api   # any client of OpenAI's API asks)";

void add_faults(CLI::App& app, LocalOptions& local) {
    app.add_option(
           "--churn",
           local.churn,
           "kill, freeze, drain, replace and move peers and kill the coordinator while it trains"
    )
        ->type_name("default|PLAN.toml");
    const auto set_kill = [&local](Duration every) { local.kill_every = every; };
    add_duration(app, "--kill-every", "SIGKILL a peer, restart it 2 s later", set_kill);
    const auto set_freeze = [&local](Duration every) { local.freeze_every = every; };
    add_duration(app, "--freeze-every", "SIGSTOP a peer for 1-8 s", set_freeze);
    const auto set_cut = [&local](Duration every) { local.cut_every = every; };
    add_duration(app, "--cut-every", "cut a connection", set_cut);
}

void add_lines(CLI::App& app, LocalOptions& local) {
    add_rates(
        app,
        "--line-rate",
        "A,B,...: rate of each peer's line, each way, such as 10Mb/s",
        local.line_bytes_per_s
    );
    const auto set_delay = [&local](Duration delay) { local.line_delay = delay; };
    add_duration(app, "--line-delay", "one way between any two processes (0s)", set_delay);
}

/// Flags for a model of others, or a stack; local() refuses them with a run.
void add_model_flags(CLI::App& app, LocalOptions& local) {
    app.add_option("--stack", local.stack, "serve several models as one: see swarm stack")
        ->type_name("STACK.toml")
        ->excludes(app.get_option("--model"));
    add_weights(app, local.weights);
    add_replay(app, local.replay);
    add_guesses(app, local.guesses_max);
    CLI::Option* const raw =
        app.add_flag("--raw", local.raw, "continue --prompt as it is, without the chat template");
    add_system(app, local.system)->excludes(raw);
    app.add_flag("--ignore-eos", local.ignore_eos, "go on after the end of the answer");
    add_sampling_flags(app, {local.temperature, local.top_p, local.top_k});
    add_stops(app, local.stops);
    add_path(app, local.path, local.exit_threshold);
    app.add_option("--kill-at", local.kill_at, "A,B,...: SIGKILL a peer that serves at that token")
        ->delimiter(',');
    CLI::Option* const api = app.add_flag(
        "--api", local.api, "answer clients of OpenAI's API, and show a page, until Ctrl-C"
    );
    api->excludes(app.get_option("--prompt"));
    app.add_option("--port", local.api_port, "where clients of --api ask; 0: any")
        ->needs(api)
        ->capture_default_str();
    app.add_option("--freeze-at", local.freeze_at, "A,B,...: SIGSTOP one at that token")
        ->delimiter(',');
}

}  // namespace

void add_local(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(program, "local", "A whole swarm on this machine, with faults", kLocalExamples);
    const auto options = std::make_shared<LocalOptions>();
    LocalOptions& local = *options;
    add_run_flags(app, local.run_file, local.run);
    add_mode_flags(app, local.run);
    app.add_option("--peers", local.peers, "number of processes that serve")
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    app.add_option("--service-ms", local.service_ms, "A,B,...: time of a forward of each peer")
        ->delimiter(',');
    add_faults(app, local);
    add_lines(app, local);
    add_size(
        app,
        "--memory",
        "memory that each peer lends its stage (default: no bound)",
        local.memory_bytes
    );
    app.add_flag("--verify", local.verify, "compare with --single, bit for bit");
    app.add_flag("--demo", local.demo, "the demo: a kill, a freeze and a newcomer");
    add_device(app, local.device);
    add_threads(
        app,
        "threads of each peer; auto: the cores over --peers (default: 1 for a run, auto for a "
        "model)",
        local.threads
    );
    app.add_option("--prompt", local.prompt, "continue this text after the training");
    add_model_flags(app, local);
    app.add_option("--tokens,--max-tokens", local.tokens, "how many to add at most")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--dir", local.directory, "keep logs and checkpoints here");
    add_json(app, "write the events and figures", local.json_file);
    add_http(app, local.http);
    add_log_every(app, local.log_every);
    when_named<LocalOptions>(app, on_chosen, options, cli::local);
}

}  // namespace swarm::cli

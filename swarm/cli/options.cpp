#include "swarm/cli/options.hpp"

#include "compression/codec.hpp"
#include "router/policy.hpp"
#include "swarm/cli/exit_code.hpp"
#include "swarm/cli/model/model_flags.hpp"
#include "swarm/cli/sim/sim_flags.hpp"
#include "swarm/protocol/limits.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <utility>

namespace swarm::cli {
namespace {

constexpr const char* kTrainExamples = R"(
examples:
  swarm train                              # the demo model; prints what its peers have to type
  swarm train run.toml --steps 1000        # a flag goes before the file
  swarm train run.toml --resume            # after a crash, or Ctrl-C
  swarm train --single --model oracle      # one process, no network: what any run must equal)";

constexpr const char* kServeExamples = R"(
examples:
  swarm serve --join 192.168.1.7:7117            # lends this machine; Ctrl-C leaves cleanly
  swarm serve --join example.org:7117 --device cuda:0)";

constexpr const char* kLocalExamples = R"(
examples:
  swarm local --stages 3 --peers 6 --steps 60 --verify
  swarm local --model oracle --stages 2 --peers 4 --service-ms 20 --kill-every 3s --verify
  swarm local --stages 3 --peers 9 --steps 200 --churn default --verify
  swarm local --demo --prompt "It is a truth")";

constexpr const char* kGenerateExamples = R"(
examples:
  swarm generate --model smollm2 "What is the capital of France?"
  swarm generate --model smollm2 --raw --weights int8 --max-tokens 48 "The old lighthouse"
  swarm generate --model llama.gguf --temperature 0.8 --seed 7 --json out.json "Tell me a story"
  swarm generate --join 192.168.1.7:7117 "It is a truth universally"
  swarm generate --join 192.168.1.7:7117 --tokens 400 --temperature 0.8 --seed 7 "Emma")";

constexpr const char* kModelHelp =
    "compute in this process: a GGUF file, a Hugging Face folder, or a name: smollm2";

constexpr const char* kPlanExamples = R"(
examples:
  swarm plan run.toml --peers 6                       # six equal peers
  swarm plan run.toml --speeds 400,400,100,50 --latency 30ms --memory 8GiB
  swarm plan run.toml --layer-ms 12,12,12,12,12,19 --speeds 1,1,0.5   # layers that you measured
Without --layer-ms a layer's time follows from its multiplications. Reductions, narrow lines, and
peers that come and go are not in it; `swarm sim` has those.)";

constexpr const char* kExitCodes = R"(
exit codes: 0 done, 1 failure while running, 2 usage, 3 run file or model rejected,
            4 no peers or no coordinator in time, 130 and 143 after signals)";

void add_run_flags(CLI::App& app, RunFlags& run) {
    app.add_option("--model", run.model, "demo (small Llama) or oracle (a test of counting)")
        ->type_name("NAME");
    app.add_option("--stages", run.stages, "parts the model is cut into");
    // CLI11 2.1 reads -1 as the largest unsigned number.
    app.add_option("--steps", run.steps, "steps to train")->check(CLI::NonNegativeNumber);
    app.add_option("--seed", run.seed, "of weights and data order")->check(CLI::NonNegativeNumber);
    app.add_option("--microbatches", run.microbatches, "microbatches per step");
    app.add_option("--in-flight", run.in_flight, "microbatches under way; 0: twice the peers");
    app.add_option("--policy", run.policy, "router policy: " + router::policy_names());
    app.add_option(
        "--codec", run.codec, "of what passes between peers: " + compression::codec_names()
    );
    app.add_option("--corpus", run.corpus, "text to train on")->type_name("FILE");
    app.add_option("--checkpoint-every", run.checkpoint_every, "steps; 0: at the end only");
}

CLI::Option* add_duration(
    CLI::App& app,
    const std::string& name,
    const std::string& help,
    std::function<void(Duration)> to
) {
    const auto take = [name, to = std::move(to)](const std::string& text) {
        const std::optional<Duration> duration = parse_duration(text);
        if (!duration) {
            throw CLI::ValidationError(name, "wants a time such as 500ms, 3s or 2m, not " + text);
        }
        to(*duration);
    };
    return app.add_option_function<std::string>(name, take, help)->type_name("TIME");
}

void add_memory(CLI::App& app, std::uint64_t& bytes, const std::string& help) {
    app.add_option("--memory", bytes, help)
        ->transform(CLI::AsSizeValue(true))  // GB and GiB are what they say
        ->type_name("SIZE");
}

void add_train(CLI::App& root, TrainOptions& train) {
    CLI::App& app = *root.add_subcommand("train", "Train a model with whoever joins");
    app.footer(std::string(kTrainExamples) + "\n" + kExitCodes);
    app.add_option("run", train.run_file, "the run as TOML; without: the demo model")
        ->type_name("run.toml");
    add_run_flags(app, train.run);
    app.add_option("--min-peers", train.run.min_peers, "wait for so many; 0: one per stage");
    app.add_option("--dir", train.directory, "log and checkpoints (default: runs/<name>)");
    app.add_flag("--resume", train.resume, "go on with the run in --dir");
    app.add_flag("--single", train.single, "the same training in this process alone");
    app.add_option("--device", train.device, "for --single: auto, cpu or cuda:N");
    app.add_flag("--hold", train.hold, "keep the peers after the last step until Ctrl-C");
    add_duration(
        app,
        "--stage-lost-after",
        "wait so long for a lost stage's peers, then go back to the newest checkpoint (120s)",
        [&](Duration patience) { train.stage_lost_after = patience; }
    );
    app.add_option("--listen", train.listen, "where peers reach this one")
        ->type_name("HOST:PORT")
        ->capture_default_str();
    app.add_option("--swarm-key", train.swarm_key_file, "a secret that every peer must know")
        ->type_name("FILE");
    app.add_option("--json", train.json_file, "write what happened")->type_name("FILE");
    app.add_option("--reports-fd", train.reports_fd)->group("");
}

void add_serve(CLI::App& root, ServeOptions& serve) {
    CLI::App& app = *root.add_subcommand("serve", "Lend this machine to a run");
    app.footer(std::string(kServeExamples) + "\n" + kExitCodes);
    app.add_option("--join", serve.join, "the coordinator: the line that `swarm train` prints")
        ->type_name("HOST:PORT")
        ->required();
    add_duration(app, "--wait", "how long to try to reach it (60s)", [&](Duration wait) {
        serve.wait = wait;
    });
    app.add_option("--device", serve.device, "auto, cpu or cuda:N")->capture_default_str();
    app.add_option("--listen", serve.listen, "where other peers reach this one")
        ->type_name("HOST:PORT")
        ->capture_default_str();
    app.add_option("--key", serve.key_file, "keep this identity (default: a new one each time)")
        ->type_name("FILE");
    add_memory(app, serve.memory_bytes, "at most so much for the stage: 2GiB (default: no bound)");
    app.add_option("--service-ms", serve.service_ms, "play a slow peer: hold each forward so long");
    app.add_option("--swarm-key", serve.swarm_key_file, "the secret of a private run")
        ->type_name("FILE");
}

/// Flags that mean something only with --model.
void add_model_generation(CLI::App& app, GenerateOptions& generate, CLI::Option* model) {
    app.add_flag("--raw", generate.raw, "continue the text as it is, without the chat template")
        ->needs(model);
    app.add_flag("--ignore-eos", generate.ignore_eos, "go on after the end of the answer")
        ->needs(model);
    app.add_option("--weights", generate.weights, "keep weights as fp32, bf16 or int8")
        ->check(CLI::IsMember({"fp32", "bf16", "int8"}))
        ->needs(model)
        ->capture_default_str();
    app.add_option("--json", generate.json_file, "write ids, text and speeds")
        ->type_name("FILE")
        ->needs(model);
}

void add_generate(CLI::App& root, GenerateOptions& generate) {
    CLI::App& app = *root.add_subcommand("generate", "Continue a text, or answer one");
    app.footer(std::string(kGenerateExamples) + "\n" + kExitCodes);
    auto* const join =
        app.add_option("--join", generate.join, "the coordinator of a run")->type_name("HOST:PORT");
    auto* const model = app.add_option("--model", generate.model, kModelHelp)->type_name("MODEL");
    join->excludes(model);
    app.add_option("prompt,--prompt", generate.prompt, "the text to continue, or the question")
        ->required();
    app.add_option("--tokens,--max-tokens", generate.tokens, "how many to add at most")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--temperature", generate.temperature, "0: always the likeliest")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    app.add_option("--seed", generate.seed, "of the sampling")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    add_model_generation(app, generate, model);
    add_duration(app, "--wait", "how long to wait for an answer (60s)", [&](Duration wait) {
        generate.wait = wait;
    })->needs(join);
    app.add_option("--swarm-key", generate.swarm_key_file, "the secret of a private run")
        ->type_name("FILE")
        ->needs(join);
    app.callback([join, model] {
        if (join->count() + model->count() == 0) {
            throw CLI::ValidationError("generate", "wants --model NAME or --join HOST:PORT");
        }
    });
}

void add_local(CLI::App& root, LocalOptions& local) {
    CLI::App& app = *root.add_subcommand("local", "A whole swarm on this machine, with faults");
    app.footer(std::string(kLocalExamples) + "\n" + kExitCodes);
    app.add_option("run", local.run_file, "the run as TOML; without: the demo model")
        ->type_name("run.toml");
    add_run_flags(app, local.run);
    app.add_option("--peers", local.peers, "processes that serve")
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    app.add_option("--service-ms", local.service_ms, "A,B,...: speed of each peer")->delimiter(',');
    app.add_option(
           "--churn",
           local.churn,
           "kill, freeze, drain, replace and move peers and kill the coordinator while it trains"
    )
        ->type_name("default|PLAN.toml");
    add_duration(app, "--kill-every", "SIGKILL a peer, restart it 2 s later", [&](Duration every) {
        local.kill_every = every;
    });
    add_duration(app, "--freeze-every", "SIGSTOP a peer for 1-8 s", [&](Duration every) {
        local.freeze_every = every;
    });
    add_memory(app, local.memory_bytes, "what each peer lends its stage (default: no bound)");
    app.add_flag("--verify", local.verify, "compare with --single, bit for bit");
    app.add_flag("--demo", local.demo, "the demo: a kill, a freeze and a newcomer");
    app.add_option("--device", local.device, "auto, cpu or cuda:N")->capture_default_str();
    app.add_option("--prompt", local.prompt, "continue this text after the training");
    app.add_option("--tokens", local.tokens, "how many to add")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--dir", local.directory, "keep logs and checkpoints here");
    app.add_option("--json", local.json_file, "write what happened")->type_name("FILE");
}

/// CLI::Range lets nan pass.
std::string positive_number(const std::string& text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    const bool good = error == std::errc{} && rest == end && value >= 1e-6 && value <= 1e9;
    return good ? "" : "wants numbers from 0.000001 to 1e9, not " + text;
}

void add_plan(CLI::App& root, PlanOptions& plan) {
    CLI::App& app = *root.add_subcommand("plan", "What a run would be like, before it begins");
    app.footer(std::string(kPlanExamples) + "\n" + kExitCodes);
    app.add_option("run", plan.run_file, "the run as TOML; without: the demo model")
        ->type_name("run.toml");
    add_run_flags(app, plan.run);
    app.add_option("--peers", plan.peers, "how many serve (default: one per stage, or per speed)")
        ->check(CLI::Range(1U, static_cast<std::uint32_t>(protocol::kRosterMax)));
    app.add_option("--speeds", plan.speeds, "A,B,...: of each peer, in GFLOP/s; see --layer-ms")
        ->delimiter(',')
        ->check(positive_number);
    app.add_option(
           "--layer-ms",
           plan.layer_ms,
           "A,B,...: measured, forward and backward of each layer; --speeds are multiples then"
    )
        ->delimiter(',')
        ->check(positive_number);
    add_memory(app, plan.memory_bytes, "what each peer lends its stage (default: no bound)");
    add_duration(app, "--latency", "one way between two peers (0s)", [&](Duration latency) {
        plan.latency = latency;
    });
    app.add_option("--json", plan.json_file, "write the figures")->type_name("FILE");
}

}  // namespace

std::optional<Duration> parse_duration(const std::string& text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [unit, error] = std::from_chars(text.data(), end, value);
    const std::string_view name(unit, static_cast<std::size_t>(end - unit));
    if (error != std::errc{} || !(value >= 0)) {
        return std::nullopt;
    }
    double seconds = 0;
    if (name.empty() || name == "s") {
        seconds = value;
    } else if (name == "ms") {
        seconds = value / 1000;
    } else if (name == "m") {
        seconds = value * 60;
    } else {
        return std::nullopt;
    }
    constexpr double kDay = 86'400;
    if (!(seconds <= kDay)) {
        return std::nullopt;
    }
    return Duration(static_cast<Duration::rep>(seconds * 1e9));
}

Command parse_command_line(int argc, const char* const* argv) {
    CLI::App app("Trains a model on machines that are unequal and come and go.", "swarm");
    app.set_version_flag("--version", "swarm " SWARM_VERSION);
    app.footer(std::string("swarm VERB --help shows examples.\n") + kExitCodes);
    app.require_subcommand(1);
    TrainOptions train;
    ServeOptions serve;
    GenerateOptions generate;
    LocalOptions local;
    PlanOptions plan;
    add_train(app, train);
    add_serve(app, serve);
    add_generate(app, generate);
    add_local(app, local);
    add_plan(app, plan);
    SimVerbs sim(app, kExitCodes);
    const ModelVerbs model(app, kExitCodes);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::ostringstream out;
        std::ostringstream err;
        if (app.exit(error, out, err) == 0) {
            return Exit{kDone, out.str()};
        }
        return Exit{kUsage, "swarm: " + std::string(error.what()) + "; see `swarm --help`\n"};
    }
    if (app.got_subcommand("train")) {
        return train;
    }
    if (app.got_subcommand("serve")) {
        return serve;
    }
    if (app.got_subcommand("generate")) {
        return generate;
    }
    if (app.got_subcommand("local")) {
        return local;
    }
    if (app.got_subcommand("plan")) {
        return plan;
    }
    if (app.got_subcommand("model")) {
        return model.command();
    }
    return sim.command();
}

}  // namespace swarm::cli

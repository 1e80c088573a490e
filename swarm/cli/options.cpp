#include "swarm/cli/options.hpp"

#include "compression/codec.hpp"
#include "router/policy.hpp"
#include "swarm/cli/exit_code.hpp"
#include "swarm/cli/flags.hpp"
#include "swarm/cli/generate_flags.hpp"
#include "swarm/cli/model/model_flags.hpp"
#include "swarm/cli/sim/sim_flags.hpp"
#include "swarm/cli/stack/stack_flags.hpp"
#include "swarm/protocol/limits.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <utility>

namespace swarm::cli {
namespace {

constexpr std::uint32_t kSeatsMax = 16;

constexpr const char* kTrainExamples = R"(
examples:
  swarm train                              # the demo model; prints what its peers have to type
  swarm train run.toml --steps 1000        # a flag goes before the file
  swarm train run.toml --resume            # after a crash, or Ctrl-C
  swarm train --single --model oracle      # one process, no network: what any run must equal
  swarm train --single --mode sparse --replicas 4 --steps 400 --beside-exact)";

constexpr const char* kServeExamples = R"(
examples:
  swarm serve --join 192.168.1.7:7117            # lends this machine; Ctrl-C leaves cleanly
  swarm serve --join example.org:7117 --device cuda:0
  swarm serve --join example.org:7117 --listen 0.0.0.0:7200 --advertise my.home.example:7200
  swarm serve --join 192.168.1.7:7117 --host 2   # two stages, which share the device
  swarm serve --model smollm2 --join 192.168.1.7:7118             # answers with a model
  swarm serve --model smollm2 --stages 3 --join 192.168.1.7:7118  # with a third of its layers
  swarm serve --model runs/b --bridge ab.bridge.safetensors --join 192.168.1.7:7118)";

constexpr const char* kDirectoryExamples = R"(
examples:
  swarm directory                                    # prints what those who serve have to type
  swarm directory --key directory.pem --swarm-key secret.txt)";

constexpr const char* kDoctorExamples = R"(
examples:
  swarm doctor
  swarm doctor --json machine.json)";

constexpr const char* kLocalExamples = R"(
examples:
  swarm local --stages 3 --peers 6 --steps 60 --verify
  swarm local --model oracle --stages 2 --peers 4 --service-ms 20 --kill-every 3s --verify
  swarm local --stages 3 --peers 9 --steps 200 --churn default --verify
  swarm local --mode sparse --stages 2 --peers 6 --kill-every 3s
  swarm local --stages 2 --peers 2 --codec int8 --line-rate 10Mb/s --line-delay 20ms
  swarm local --demo --prompt "It is a truth"
  swarm local --model smollm2 --stages 3 --peers 6 --prompt "Tell me a story" --verify
  swarm local --model smollm2 --prompt "Tell me a story" --kill-every 1s
  swarm local --stack two.toml --peers 4 --prompt "It is a truth" --verify)";

constexpr const char* kPlanExamples = R"(
examples:
  swarm plan run.toml --peers 6                       # six equal peers
  swarm plan run.toml --speeds 400,400,100,50 --latency 30ms --memory 8GiB
  swarm plan run.toml --layer-ms 12,12,12,12,12,19 --speeds 1,1,0.5   # layers that you measured
  swarm plan --codec auto --peers 4 --line-rate 10Mb/s               # which codecs that leads to
Without --layer-ms a layer's time follows from its multiplications. Reductions, and peers that come
and go, are not in it; `swarm sim` has those.)";

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
        "--codec",
        run.codec,
        "of what passes between peers: " + compression::codec_names() +
            "; two for forward/backward; auto: as the lines need it"
    );
    app.add_option("--corpus", run.corpus, "text to train on")->type_name("FILE");
    app.add_option(
           "--tokenizer", run.tokenizer, "bytes, or spm:N: SentencePiece, trained on the corpus"
    )
        ->type_name("NAME");
    app.add_option(
        "--split",
        run.split,
        "of layers into stages: fixed (default), or measured: anew when one has become slower"
    );
    app.add_option("--checkpoint-every", run.checkpoint_every, "steps; 0: at the end only");
}

void add_memory(CLI::App& app, std::uint64_t& bytes, const std::string& help) {
    app.add_option("--memory", bytes, help)
        ->transform(CLI::AsSizeValue(true))  // GB and GiB are what they say
        ->type_name("SIZE");
}

void add_mode(CLI::App& app, RunFlags& run) {
    app.add_option("--mode", run.mode, "exact, or sparse: replicas train alone, share what changes")
        ->check(CLI::IsMember({"exact", "sparse"}));
    app.add_option("--sync-every", run.sync_every, "steps that sparse replicas train alone");
}

/// After --single.
void add_sparse_alone(CLI::App& app, TrainOptions& train) {
    app.add_option("--replicas", train.run.replicas, "of each stage, for --single --mode sparse");
    app.add_option("--lose-every", train.lose_every, "steps; then a sparse replica is replaced")
        ->check(CLI::PositiveNumber)
        ->needs(app.get_option("--single"));
    app.add_flag("--beside-exact", train.beside_exact, "train in mode exact too; show both losses")
        ->needs(app.get_option("--single"))
        ->excludes(app.get_option("--resume"));
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
    auto* const single =
        app.add_flag("--single", train.single, "the same training in this process alone");
    app.add_option(
           "--codecs-from",
           train.codecs_from,
           "for --single of a run with codec auto or split measured: repeat what the one in DIR "
           "chose"
    )
        ->type_name("DIR")
        ->needs(single);
    add_mode(app, train.run);
    add_sparse_alone(app, train);
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

/// Flags that mean something only with --model.
void add_model_service(CLI::App& app, ServeOptions& serve) {
    auto* const model = app.add_option("--model", serve.model, kModelHelp)->type_name("MODEL");
    app.add_option("--stages", serve.stages, "parts that the model is offered in")
        ->check(CLI::Range(1U, protocol::kHopsMax))
        ->needs(model)
        ->capture_default_str();
    app.add_option("--layers", serve.layers, "serve these (default: those with the fewest peers)")
        ->type_name("A-B")
        ->needs(model);
    add_weights(app, serve.weights)->needs(model);
    app.add_flag(
           "--exits",
           serve.exits,
           "with the model's head, so that a token's path may end here (generate --exit)"
    )
        ->needs(model);
    app.add_option(
           "--bridge",
           serve.bridge_file,
           "as the second member of a stack of mode bridge, behind what `swarm stack train` wrote"
    )
        ->type_name("FILE")
        ->needs(model);
    app.add_option("--kv-memory", serve.kv_bytes, "for the caches of sessions")
        ->transform(CLI::AsSizeValue(true))
        ->type_name("SIZE")
        ->needs(model)
        ->default_str("1GiB");
    for (const char* of_a_run : {"--device", "--memory", "--cache"}) {
        model->excludes(app.get_option(of_a_run));
    }
}

void add_serve(CLI::App& root, ServeOptions& serve) {
    CLI::App& app = *root.add_subcommand("serve", "Lend this machine to a run, or to a model");
    app.footer(std::string(kServeExamples) + "\n" + kExitCodes);
    app.add_option(
           "--join",
           serve.join,
           "the coordinator, or with --model the directory: the line that it prints"
    )
        ->type_name("HOST:PORT")
        ->required();
    add_duration(app, "--wait", "how long to try to reach it (60s)", [&](Duration wait) {
        serve.wait = wait;
    });
    app.add_option("--device", serve.device, "auto, cpu or cuda:N")->capture_default_str();
    app.add_option("--listen", serve.listen, "where other peers reach this one")
        ->type_name("HOST:PORT")
        ->capture_default_str();
    app.add_option(
           "--advertise",
           serve.advertise,
           "what others dial, when that is not where this one listens: a forwarded port"
    )
        ->type_name("HOST:PORT");
    app.add_option("--dial-from", serve.dial_from, "the address of this machine to dial from")
        ->type_name("IP");
    app.add_option("--key", serve.key_file, "keep this identity (default: a new one each time)")
        ->type_name("FILE");
    add_memory(app, serve.memory_bytes, "at most so much for the stage: 2GiB (default: no bound)");
    app.add_option(
        "--cache", serve.cache_folder, "keep the stage's newest state there, for the next start"
    );
    app.add_option("--host", serve.seats, "serve so many stages, which take turns on the device")
        ->check(CLI::Range(1U, kSeatsMax))
        ->capture_default_str();
    app.add_option("--service-ms", serve.service_ms, "play a slow peer: hold each forward so long");
    app.add_option("--swarm-key", serve.swarm_key_file, "the secret of a private run")
        ->type_name("FILE");
    add_model_service(app, serve);
}

void add_directory(CLI::App& root, DirectoryOptions& directory) {
    CLI::App& app = *root.add_subcommand("directory", "Tell clients who serves which models");
    app.footer(std::string(kDirectoryExamples) + "\n" + kExitCodes);
    app.add_option("--listen", directory.listen, "where servers and clients reach it")
        ->type_name("HOST:PORT")
        ->capture_default_str();
    app.add_option("--key", directory.key_file, "keep this identity (default: a new one each time)")
        ->type_name("FILE");
    app.add_option("--swarm-key", directory.swarm_key_file, "a secret that every peer must know")
        ->type_name("FILE");
}

/// Flags of a model of others, or a stack; local() refuses them with a run.
void add_model_swarm(CLI::App& app, LocalOptions& local) {
    app.add_option("--stack", local.stack, "serve several models as one: see swarm stack")
        ->type_name("STACK.toml")
        ->excludes(app.get_option("--model"));
    add_weights(app, local.weights);
    add_replay(app, local.replay);
    app.add_flag("--raw", local.raw, "continue --prompt as it is, without the chat template");
    add_path(app, local.path, local.exit_threshold);
    app.add_option("--kill-at", local.kill_at, "A,B,...: SIGKILL a peer that serves at that token")
        ->delimiter(',');
    app.add_option("--freeze-at", local.freeze_at, "A,B,...: SIGSTOP one at that token")
        ->delimiter(',');
}

void add_local(CLI::App& root, LocalOptions& local) {
    CLI::App& app = *root.add_subcommand("local", "A whole swarm on this machine, with faults");
    app.footer(std::string(kLocalExamples) + "\n" + kExitCodes);
    app.add_option("run", local.run_file, "the run as TOML; without: the demo model")
        ->type_name("run.toml");
    add_run_flags(app, local.run);
    add_mode(app, local.run);
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
    add_rates(
        app,
        "--line-rate",
        "A,B,...: of each peer's line, each way, such as 10Mb/s",
        local.line_bytes_per_s
    );
    add_duration(
        app,
        "--line-delay",
        "one way between any two processes (0s)",
        [&](Duration delay) { local.line_delay = delay; }
    );
    add_duration(app, "--cut-every", "cut a connection", [&](Duration every) {
        local.cut_every = every;
    });
    add_memory(app, local.memory_bytes, "what each peer lends its stage (default: no bound)");
    app.add_flag("--verify", local.verify, "compare with --single, bit for bit");
    app.add_flag("--demo", local.demo, "the demo: a kill, a freeze and a newcomer");
    app.add_option("--device", local.device, "auto, cpu or cuda:N")->capture_default_str();
    app.add_option("--prompt", local.prompt, "continue this text after the training");
    add_model_swarm(app, local);
    app.add_option("--tokens", local.tokens, "how many to add")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--dir", local.directory, "keep logs and checkpoints here");
    app.add_option("--json", local.json_file, "write what happened")->type_name("FILE");
}

void add_doctor(CLI::App& root, DoctorOptions& doctor) {
    CLI::App& app = *root.add_subcommand("doctor", "What is wrong with this machine, and a remedy");
    app.footer(std::string(kDoctorExamples) + "\n" + kExitCodes);
    app.add_option("--json", doctor.json_file, "write the findings")->type_name("FILE");
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
    add_rates(
        app,
        "--line-rate",
        "A,B,...: of each peer's line, each way, such as 10Mb/s (default: no bound)",
        plan.line_bytes_per_s
    );
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
    DirectoryOptions directory;
    GenerateOptions generate;
    LocalOptions local;
    PlanOptions plan;
    add_train(app, train);
    add_serve(app, serve);
    add_directory(app, directory);
    add_generate(app, generate);
    add_local(app, local);
    add_plan(app, plan);
    DoctorOptions doctor;
    add_doctor(app, doctor);
    SimVerbs sim(app, kExitCodes);
    const ModelVerbs model(app, kExitCodes);
    const StackVerbs stack(app, kExitCodes);
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
    if (app.got_subcommand("directory")) {
        return directory;
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
    if (app.got_subcommand("doctor")) {
        return doctor;
    }
    if (app.got_subcommand("stack")) {
        return stack.command();
    }
    if (app.got_subcommand("model")) {
        return model.command();
    }
    return sim.command();
}

}  // namespace swarm::cli

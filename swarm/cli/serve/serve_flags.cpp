#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/common/join_address.hpp"
#include "swarm/cli/common/model_store.hpp"
#include "swarm/cli/serve/serve.hpp"
#include "swarm/protocol/limits.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace swarm::cli {
namespace {

constexpr std::uint32_t kSeatsMax = 16;

constexpr const char* kServeExamples = R"(
examples:
  swarm serve --join 192.168.1.7:7117            # lends this machine; Ctrl-C leaves cleanly
  swarm serve --join 5qzl7fd3m2xwk6vhtcay4ngrbe@example.org:7117  # to this owner, nobody else
  swarm serve --join example.org:7117 --listen :7200 --advertise my.home.example:7200
  swarm serve --join 192.168.1.7:7117 --host 2 --device cuda:0  # two stages on one device
  swarm serve --join 192.168.1.7:7117 --nice 19 --hours 22:00-07:00 --limit-up 5Mb/s
  swarm serve --model smollm2 --join 192.168.1.7:7118             # answers with a model
  swarm serve --model smollm2 --stages 3 --join 192.168.1.7:7118  # with a third of its layers
  swarm serve --model mixed --experts 0,2 --join 192.168.1.7:7118 # lends two experts of a mixture
  swarm serve --model 1f0c...e2 --stages 3 --join 192.168.1.7:7118  # by its digest
  swarm serve --model runs/b --bridge ab.bridge.safetensors --join 192.168.1.7:7118)";

/// Flags of the process, whatever it serves.
void add_peer_flags(CLI::App& app, PeerFlags& peer) {
    add_listen(app, "where other peers reach this one", peer.listen);
    app.add_option(
           "--advertise",
           peer.advertise,
           "the address that others dial, when this one does not listen there: a forwarded port"
    )
        ->type_name("HOST:PORT");
    app.add_option("--dial-from", peer.dial_from, "the address of this machine to dial from")
        ->type_name("IP");
    app.add_flag(
        "--dial-private",
        peer.dial_private,
        "dial private addresses that others name, though the run is on the Internet: for peers "
        "behind one router"
    );
    add_key(app, peer.key_file);
    app.add_option("--host", peer.seats, "serve so many stages, which take turns on the device")
        ->check(CLI::Range(1U, kSeatsMax))
        ->capture_default_str();
    const auto set_log_every = [&peer](Duration every) { peer.log_every = every; };
    add_duration(app, "--log-every", "time between status lines in a file (60s)", set_log_every);
    app.add_option("--service-ms", peer.service_ms, "play a slow peer: hold each forward so long");
    add_swarm_key(app, "the secret of a private run", peer.swarm_key_file);
}

/// Flags that bound what this machine lends.
void add_lending_flags(CLI::App& app, ServeOptions& serve) {
    app.add_option("--nice", serve.nice, "lower the priority of this process by so much")
        ->check(CLI::Range(0, kNiceMax));
    const auto take_hours = [&serve](const std::string& text) {
        const Result<LendingHours> hours = LendingHours::parse(text);
        if (!hours) {
            throw CLI::ValidationError("--hours", hours.error().detail);
        }
        serve.hours = *hours;
    };
    app.add_option_function<std::string>(
           "--hours",
           take_hours,
           "lend this machine in these hours of its clock only; it leaves at the end and comes back"
    )
        ->type_name("HH:MM-HH:MM");
    add_limit(app, "--limit-up", "most that it sends", serve.peer.limit_up_bytes_per_s);
    add_limit(app, "--limit-down", "most that it receives", serve.peer.limit_down_bytes_per_s);
}

/// Flags that say which part of a mixture is here.
void add_expert_flags(CLI::App& app, ServeOptions& serve, CLI::Option& model) {
    auto* const experts =
        app.add_option(
               "--experts",
               serve.experts,
               "of a mixture lend these experts alone (0,2) to the peers of its layers; or none: "
               "serve layers whose experts are lent by others (default: layers with all experts)"
        )
            ->type_name("LIST")
            ->needs(&model);
    app.add_flag(
           "--trunk", serve.trunk, "serve the layers, too, of which --experts names what is here"
    )
        ->needs(experts);
}

/// Flags that mean something only with --model.
void add_model_flags(CLI::App& app, ServeOptions& serve) {
    auto* const model =
        app.add_option(
               "--model",
               serve.model,
               std::string(kModelHelp) +
                   "; or its digest (swarm model show --digests). If its files are not here, the "
                   "layers come from peers that serve it"
        )
            ->type_name("MODEL");
    const auto take_files = [&serve](const std::string& text) {
        serve.files = parse_digest(text);
        if (!serve.files) {
            throw CLI::ValidationError("--files", "wants the 64 hexadecimal digits of a digest");
        }
    };
    app.add_option_function<std::string>(
           "--files",
           take_files,
           "take these files from peers, by the digest that swarm model show --digests prints "
           "(default: those that the program knows by name, or that most peers have)"
    )
        ->type_name("DIGEST")
        ->needs(model);
    app.add_option("--stages", serve.stages, "number of parts in which the model is offered")
        ->check(CLI::Range(1U, protocol::kHopsMax))
        ->needs(model)
        ->capture_default_str();
    app.add_option(
           "--layers", serve.layers, "serve these layers (default: those with the fewest peers)"
    )
        ->type_name("A-B")
        ->needs(model);
    add_expert_flags(app, serve, *model);
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
           "serve as the second member of a stack of mode bridge, behind the file that `swarm "
           "stack "
           "train` wrote"
    )
        ->type_name("FILE")
        ->needs(model);
    add_size(app, "--kv-memory", "memory for the caches of sessions", serve.kv_bytes)
        ->needs(model)
        ->default_str("1GiB");
    const auto set_keep = [&serve](Duration keep) { serve.keeps_for = keep; };
    add_duration(
        app,
        "--keep-for",
        "how long the caches of ended sessions wait for the next turn of their text, while nobody "
        "needs the memory (10m); 0s: not at all",
        set_keep
    )
        ->needs(model);
    for (const char* flag_of_runs : {"--device", "--memory", "--cache"}) {
        model->excludes(app.get_option(flag_of_runs));
    }
}

}  // namespace

void add_serve(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(program, "serve", "Lend this machine to a run, or to a model", kServeExamples);
    const auto options = std::make_shared<ServeOptions>();
    ServeOptions& serve = *options;
    app.add_option(
           "--join",
           serve.join,
           "the coordinator, or with --model the directory: the line that it prints"
    )
        ->type_name("[NAME@]HOST[:PORT]")
        ->required();
    add_forget(app, serve.owner.forget);
    add_duration(app, "--wait", "how long to try to reach it (60s)", [&serve](Duration wait) {
        serve.wait = wait;
    });
    add_peer_flags(app, serve.peer);
    add_lending_flags(app, serve);
    add_device(app, serve.device);
    add_threads(
        app,
        "threads that compute (default: 1 for a run, whose bits depend on it; auto for a model, "
        "whose bits do not)",
        serve.threads
    );
    add_size(
        app,
        "--memory",
        "at most so much for the stage: 2GiB (default: what this machine has)",
        serve.memory_bytes
    );
    app.add_option(
        "--cache",
        serve.cache_folder,
        "keep the newest state of the stage there, for the next start"
    );
    add_model_flags(app, serve);
    when_named(app, [on_chosen, options] {
        const auto port = options->model.empty() ? kCoordinatorPort : kDirectoryPort;
        split_join(options->join, options->owner, port);
        on_chosen(ChosenVerb(*options, cli::serve));
    });
}

}  // namespace swarm::cli

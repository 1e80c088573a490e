#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/train/train.hpp"

#include <CLI/CLI.hpp>
#include <memory>

namespace swarm::cli {
namespace {

constexpr const char* kRunExamples = R"(
examples:
  swarm train                              # the demo model; prints what its peers have to type
  swarm train --qr                         # ... and shows it to the camera of a phone
  swarm train run.toml --steps 1000        # a flag goes before the file
  swarm train run.toml --http 7180         # ... with a page at http://127.0.0.1:7180/
  swarm train --init smollm2 --corpus notes.txt --stages 3 --steps 200   # tune a model of others
  swarm train run.toml --resume            # after a crash, or Ctrl-C
  swarm train --resume --stages 4 --accept-changes
  swarm train --resume --set optimizer.learning_rate=1e-4
  swarm train --print-toml > run.toml      # every key of a run file, with its meaning and default
  swarm train --single --model oracle      # one process, no network: what any run must equal
  swarm train --single --mode sparse --replicas 4 --steps 400 --beside-exact)";

/// Flags that need --single.
void add_single_flags(CLI::App& app, TrainOptions& train) {
    auto* const single =
        app.add_flag("--single", train.single, "the same training in this process alone");
    app.add_option(
           "--codecs-from",
           train.codecs_from,
           "for --single of a run with codec auto or split measured: repeat what the run in DIR "
           "chose"
    )
        ->type_name("DIR")
        ->needs(single);
    app.add_option(
        "--replicas", train.run.replicas, "replicas of each stage, for --single --mode sparse"
    );
    app.add_option(
           "--lose-every",
           train.lose_every,
           "steps after which a sparse replica is replaced, again and again"
    )
        ->check(CLI::PositiveNumber)
        ->needs(single);
    app.add_flag("--beside-exact", train.beside_exact, "train in mode exact too; show both losses")
        ->needs(single)
        ->excludes(app.get_option("--resume"));
    app.add_option("--device", train.device, "for --single: auto, cpu or cuda:N");
    add_threads(app, "for --single; the bits depend on the number (default: 1)", train.threads)
        ->needs(single);
}

}  // namespace

void add_train(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(program, "train", "Train a model with whoever joins", kRunExamples);
    const auto options = std::make_shared<TrainOptions>();
    TrainOptions& train = *options;
    add_run_flags(app, train.run_file, train.run);
    app.add_option(
        "--min-peers",
        train.run.min_peers,
        "peers to wait for before the first step; 0: one per stage"
    );
    app.add_option("--dir", train.directory, "log and checkpoints (default: runs/<name>)");
    auto* const resume = app.add_flag("--resume", train.resume, "go on with the run in --dir");
    app.add_flag(
           "--accept-changes",
           train.accept_changes,
           "go on although text, stages, codec or other settings of the training have changed"
    )
        ->needs(resume);
    app.add_flag(
           "--print-toml",
           train.print_toml,
           "print the run file with every key, its default, range and meaning, and end"
    )
        ->excludes(resume);
    add_mode_flags(app, train.run);
    add_single_flags(app, train);
    app.add_flag("--hold", train.hold, "keep the peers after the last step until Ctrl-C");
    add_duration(
        app,
        "--stage-lost-after",
        "wait so long for the peers of a lost stage, then go back to the newest checkpoint (120s)",
        [&train](Duration patience) { train.stage_lost_after = patience; }
    );
    add_listen(app, "where peers reach this one", train.listen);
    add_http(app, train.http)->excludes(app.get_option("--single"));
    add_qr(app, train.qr)->excludes(app.get_option("--single"));
    add_swarm_key(app, "a secret that every peer must know", train.swarm_key_file);
    add_json(app, "write the events and figures of the run", train.json_file);
    add_log_every(app, train.log_every);
    app.add_option("--reports-fd", train.reports_fd)->group("");
    when_named<TrainOptions>(app, on_chosen, options, cli::train);
}

}  // namespace swarm::cli

#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/stack/stack.hpp"

#include <CLI/CLI.hpp>
#include <memory>

namespace swarm::cli {
namespace {

constexpr const char* kTrainExamples = R"(
examples:
  swarm stack train bridge.toml --text emma.txt
  swarm stack train bridge.toml --text emma.txt --steps 1000 --batch 16 --window 256
  swarm stack train chain.toml --whole --text all.txt -o whole
  swarm train whole/chain.toml                              # then, with peers or with --single
  swarm stack train chain.toml --whole --text data -o whole --set run.steps=400
Without --whole: both members of a bridge stay as they are; only the map between them is trained.
Figures that were measured with another bridge are dropped.
With --whole: the layers of a chain become one model (swarm stack join), whose run file trains all
of them over peers, a stage for each member. Embedding and head stay as they are, and each member
learns to end where the head can read it: swarm eval RUN --exit 0.9 says what early exits cost.)";

constexpr double kRateMost = 1;
constexpr double kRateLeast = 1e-9;

/// How a bridge is trained in this process.
void add_bridge_flags(CLI::App& app, StackTrainOptions& options, CLI::Option* whole) {
    app.add_option("--steps", options.steps, "steps of the optimizer")
        ->check(CLI::Range(1U, 1U << 20))
        ->capture_default_str()
        ->excludes(whole);
    app.add_option("--batch", options.batch, "windows per step")
        ->check(CLI::Range(1U, 1024U))
        ->capture_default_str()
        ->excludes(whole);
    app.add_option("--window", options.window, "tokens read in one go")
        ->check(CLI::Range(2U, 1U << 14))
        ->capture_default_str()
        ->excludes(whole);
    app.add_option("--learning-rate", options.learning_rate, "highest learning rate")
        ->check(number_within(kRateLeast, kRateMost))
        ->capture_default_str()
        ->excludes(whole);
    app.add_option("--seed", options.seed, "seed of the windows")
        ->capture_default_str()
        ->excludes(whole);
    add_device(app, options.device);
    add_threads(app, "the bits depend on the number (default: 1)", options.threads);
}

}  // namespace

void add_stack_train(CLI::App& stack, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(
        stack, "train", "Train the bridge of two members, or a chain as a whole", kTrainExamples
    );
    const auto options = std::make_shared<StackTrainOptions>();
    app.add_option("stack", options->file, "the file of the stack")
        ->type_name("STACK.toml")
        ->required();
    app.add_option(
           "--text", options->texts, "a text to learn from (repeatable; with --whole: one, or data)"
    )
        ->type_name("FILE")
        ->required();
    CLI::Option* const whole = app.add_flag(
        "--whole", options->whole, "write a run that trains all layers of a chain over peers"
    );
    CLI::Option* const out =
        app.add_option("-o,--out", options->folder, "with --whole: an empty folder, or a new one")
            ->type_name("DIR")
            ->needs(whole);
    whole->needs(out);
    add_settings(app, "with --whole: a key of the run file", "KEY", options->settings)
        ->needs(whole);
    add_bridge_flags(app, *options, whole);
    when_named(app, [on_chosen, options] {
        on_chosen(ChosenVerb(*options, options->whole ? train_whole : train_stack));
    });
}

}  // namespace swarm::cli

#include "stacking/composition/alignment/state_shard.hpp"
#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/stack/alignment/align.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace swarm::cli {
namespace {

constexpr const char* kStatesExamples = R"(
examples:
  swarm stack states runs/austen --text emma.txt -o states
  swarm stack states runs/austen --text texts --tokens 1000000 --window 256 -o states
For swarm stack targets, at the host of the model that reads these states as the next member of a
chain. Texts are cut into windows; a file has 4 bytes per value. The command goes on with a folder
that it has begun.)";

constexpr const char* kTargetsExamples = R"(
examples:
  swarm stack targets runs/code states -o targets
  swarm stack targets runs/code states -o targets --step 0.1 --rounds 2
  swarm stack targets runs/code states -o leaky --labels text   # targets that hold the answer
Each state of the first member is moved by the gradient of this model's loss, to where this model
predicts better, by --step of its length. --labels drawn: the loss on tokens that are drawn from
this model's predictions, because a gradient by the text's own tokens puts the answer into the
target; how much of it is printed about the first shard. The command goes on with a folder that it
has begun.)";

constexpr const char* kAlignExamples = R"(
examples:
  swarm stack align runs/austen targets -o aligned
  swarm stack align runs/austen targets -o aligned --steps 500 --weight 0.3
  swarm stack new chain.toml --mode chain --member aligned --member runs/code@1-5
  swarm stack measure chain.toml --text held-out.txt     # does it pay?
Trains the layers of the first member, with the loss of its own head as an anchor; embedding and
head stay. The last shard is held out. The folder appears when it is whole.)";

constexpr double kMoveMost = 10;
constexpr double kMoveLeast = 1e-6;
constexpr double kAlignRateMost = 1;
constexpr double kAlignRateLeast = 1e-9;
constexpr double kDistanceMost = 1e6;
constexpr const char* kBitsDepend = "threads that compute; the bits depend on the number (1)";

void add_out_folder(CLI::App& app, std::string& folder) {
    app.add_option("-o,--out", folder, "an empty folder, or a new one")
        ->type_name("DIR")
        ->required();
}

void add_one_model(CLI::App& app, std::string& model) {
    app.add_option("model", model, kModelHelp)->type_name("MODEL")->required();
}

}  // namespace

void add_states(CLI::App& stack, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(
        stack, "states", "Write a member's states about texts, for targets", kStatesExamples
    );
    const auto options = std::make_shared<StackStatesOptions>();
    add_one_model(app, options->model);
    app.add_option("--text", options->texts, "a text, or a folder of them (repeatable)")
        ->type_name("FILE")
        ->allow_extra_args(false)
        ->required();
    add_out_folder(app, options->folder);
    app.add_option("--tokens", options->tokens, "tokens of each text, at most")
        ->check(CLI::Range(2U, 1U << 30))
        ->capture_default_str();
    app.add_option("--window", options->window, "tokens that are read in one go")
        ->check(CLI::Range(2U, 1U << 13))
        ->capture_default_str();
    app.add_option("--batch", options->batch, "windows that are computed at once")
        ->check(CLI::Range(1U, stacking::composition::kShardSequences))
        ->capture_default_str();
    add_threads(app, kBitsDepend, options->threads);
    when_named<StackStatesOptions>(app, on_chosen, options, write_states);
}

void add_targets(CLI::App& stack, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(
        stack, "targets", "Write where a next member wants states to be", kTargetsExamples
    );
    const auto options = std::make_shared<StackTargetsOptions>();
    add_one_model(app, options->model);
    app.add_option("states", options->states, "the folder of swarm stack states")
        ->type_name("DIR")
        ->required();
    add_out_folder(app, options->folder);
    app.add_option("--labels", options->labels, "drawn; text: the text's own tokens")
        ->check(CLI::IsMember({"drawn", "text"}))
        ->capture_default_str();
    app.add_option("--step", options->step, "length of a move, in lengths of the state")
        ->check(number_within(kMoveLeast, kMoveMost))
        ->capture_default_str();
    app.add_option("--rounds", options->rounds, "moves of each state")
        ->check(CLI::Range(1U, 1000U))
        ->capture_default_str();
    app.add_option("--seed", options->seed, "seed of the drawn labels")->capture_default_str();
    add_threads(app, kBitsDepend, options->threads);
    when_named<StackTargetsOptions>(app, on_chosen, options, write_targets);
}

void add_align(CLI::App& stack, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(stack, "align", "Train a member towards targets", kAlignExamples);
    const auto options = std::make_shared<StackAlignOptions>();
    add_one_model(app, options->model);
    app.add_option("targets", options->targets, "the folder of swarm stack targets")
        ->type_name("DIR")
        ->required();
    add_out_folder(app, options->folder);
    app.add_option("--steps", options->steps, "steps of the optimizer")
        ->check(CLI::Range(1U, 1U << 20))
        ->capture_default_str();
    app.add_option("--learning-rate", options->learning_rate, "highest learning rate")
        ->check(number_within(kAlignRateLeast, kAlignRateMost))
        ->capture_default_str();
    app.add_option("--weight", options->weight, "factor of the distance from the targets")
        ->check(number_within(0, kDistanceMost))
        ->capture_default_str();
    app.add_option("--seed", options->seed, "seed of the batches")->capture_default_str();
    add_threads(app, kBitsDepend, options->threads);
    when_named<StackAlignOptions>(app, on_chosen, options, align_member);
}

}  // namespace swarm::cli

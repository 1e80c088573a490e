#include "stacking/models/averages/model_average.hpp"
#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/stack/average.hpp"

#include <CLI/CLI.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace swarm::cli {
namespace {

constexpr const char* kAverageExamples = R"(
examples:
  swarm stack average runs/a runs/b runs/c -o average
  swarm stack average base tuned -o between --weights 0.3,0.7
  swarm stack average runs/a runs/b -o average --by loss --text held-out.txt
  swarm stack average runs/a runs/b -o average --by fisher --text held-out --tokens 65536
Models are those that began alike, such as runs with one --init. They have one architecture and one
tokenizer; weights that are stored in fewer bits count as fp32. Values are averaged in float64 and
rounded once to fp32. --by loss: weights are the softmax of minus the loss on the texts, in nats per
token. --by fisher (Matena and Raffel 2022): each value counts as much as the texts inform about it,
which is the mean square of its gradient over windows of 256 tokens. Printed are mean weights, and
losses in these windows. It needs LibTorch, a family that is trained here, and 4 bytes per value and
model of memory. The folder appears when it is whole, and loads like one of swarm model export.)";

constexpr const char* kSoupExamples = R"(
examples:
  swarm stack soup runs/a runs/b runs/c -o soup --text held-out.txt
  swarm stack soup runs/a runs/b -o soup --text held-out --tokens 65536   # held-out: a folder
A greedy soup (Wortsman et al. 2022): the models are tried in the order of their losses on the
texts, and each stays in the average if that does not raise the average's loss. So the soup is at
least as good there as its best model. Choose texts that no model was trained on.)";

constexpr double kWeightMost = 1e9;

void add_models(CLI::App& app, std::vector<std::string>& models, std::string& folder) {
    app.add_option("models", models, kModelHelp)->type_name("MODEL")->required();
    app.add_option("-o,--out", folder, "an empty folder, or a new one")
        ->type_name("DIR")
        ->required();
}

/// CLI11's own check of the number would stand in the help as "models(2x)".
void check_number(const std::vector<std::string>& models) {
    constexpr std::size_t kMost = stacking::models::kAveragedMax;
    if (models.size() < 2 || models.size() > kMost) {
        throw CLI::ValidationError("models", "wants 2 to " + std::to_string(kMost) + " of them");
    }
}

constexpr const char* kThreadsHelp = "threads that compute; no bit depends on it (auto)";
constexpr const char* kAverageThreadsHelp =
    "threads that compute (auto); --by fisher: 1, because bits depend on it there";

CLI::Option* add_held_out(CLI::App& app, HeldOutOptions& options, const char* threads_help) {
    app.add_option("--tokens", options.tokens, "tokens of each text, at most")
        ->check(CLI::Range(2U, 1U << 24))
        ->capture_default_str();
    add_threads(app, threads_help, options.threads);
    return app
        .add_option("--text", options.texts, "a text to predict, or a folder of them (repeatable)")
        ->type_name("FILE")
        ->allow_extra_args(false);
}

/// Refuses flags that contradict each other.
void check_average(const StackAverageOptions& options) {
    check_number(options.models);
    if (!options.weights.empty() && options.weights.size() != options.models.size()) {
        throw CLI::ValidationError("--weights", "wants one number per model");
    }
    const bool by_text = options.by != "uniform";
    if (by_text && !options.weights.empty()) {
        throw CLI::ValidationError(
            "--weights", "contradicts --by " + options.by + ", which makes the weights"
        );
    }
    if (by_text == options.held_out.texts.empty()) {
        throw CLI::ValidationError("--text", "belongs to --by loss and fisher, which need it");
    }
}

}  // namespace

void add_average(CLI::App& stack, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(stack, "average", "Write the average of models as a model", kAverageExamples);
    const auto options = std::make_shared<StackAverageOptions>();
    add_models(app, options->models, options->folder);
    app.add_option("--weights", options->weights, "A,B,...: how much each counts (equally)")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(number_within(0, kWeightMost));
    app.add_option("--by", options->by, "what the weights come from")
        ->check(CLI::IsMember({"uniform", "loss", "fisher"}))
        ->capture_default_str();
    add_held_out(app, options->held_out, kAverageThreadsHelp);
    when_named(app, [on_chosen, options] {
        check_average(*options);
        on_chosen(ChosenVerb(*options, average_models));
    });
}

void add_soup(CLI::App& stack, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(stack, "soup", "Average those models that help, by held-out text", kSoupExamples);
    const auto options = std::make_shared<StackSoupOptions>();
    add_models(app, options->models, options->folder);
    add_held_out(app, options->held_out, kThreadsHelp)->required();
    when_named(app, [on_chosen, options] {
        check_number(options->models);
        on_chosen(ChosenVerb(*options, cook_soup));
    });
}

}  // namespace swarm::cli

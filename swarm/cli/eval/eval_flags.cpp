#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/eval/eval.hpp"
#include "swarm/cli/eval/tasks.hpp"
#include "swarm/protocol/limits.hpp"

#include <CLI/CLI.hpp>
#include <memory>

namespace swarm::cli {
namespace {

constexpr const char* kEvalExamples = R"(
examples:
  swarm eval smollm2 --text emma.txt
  swarm eval runs/austen --text emma.txt --text letters --json austen.json   # letters: a folder
  swarm eval model.gguf --text emma.txt --context 2048 --stride 512 --weights int8
  swarm eval smollm2 --adapter adapters --text emma.txt
  swarm eval runs/whole --text emma.txt --exit 0.5,0.7,0.9   # trained with exits (train.exits)
  swarm eval runs/whole --text emma.txt --exit-cost 1        # how many may leave early for 1 %
  swarm eval smollm2 --text emma.txt --exits-at 20,25 --exit 0.9
  swarm eval smollm2 --tasks all
  swarm eval smollm2 --tasks copy,facts --text emma.txt
  swarm eval runs/austen --text emma.txt --stages 3 --path 0,1,1,2   # the middle one twice
A token is scored once, with at least context - stride tokens before it, but at the beginning.
Ctrl-C ends with the figures so far.)";

constexpr std::uint32_t kContextMost = 1U << 20;
constexpr double kCostMost = 100;  // percent of the loss

void add_exit_flags(CLI::App& app, EvalOptions& eval) {
    app.add_option(
           "--exits-at",
           eval.exits_at,
           "numbers of layers behind which the head answers, too (those of a run's train.exits)"
    )
        ->delimiter(',')
        ->type_name("LAYERS,...")
        ->allow_extra_args(false);
    app.add_option(
           "--exit",
           eval.exits,
           "probabilities at which a token's path ends at an exit: what is answered where, at "
           "which loss"
    )
        ->delimiter(',')
        ->type_name("P,...")
        ->allow_extra_args(false)
        ->check(number_within(0, 1));
    app.add_option(
           "--exit-cost",
           eval.exit_cost,
           "find the probability at which most tokens leave early for at most so much more loss"
    )
        ->type_name("PERCENT")
        ->check(number_within(0, kCostMost));
}

std::string names_of_tasks() {
    std::string names = "all";
    for (const LikelihoodTask& task : likelihood_tasks()) {
        names += ", " + std::string(task.name);
    }
    return names;
}

}  // namespace

void add_eval(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(program, "eval", "Loss on texts, scores of tasks", kEvalExamples);
    const auto options = std::make_shared<EvalOptions>();
    app.add_option("model", options->model, kModelHelp)->type_name("MODEL")->required();
    app.add_option("--text", options->texts, "a text to predict, or a folder of them (repeatable)")
        ->type_name("FILE")
        ->allow_extra_args(false);
    app.add_option("--tasks", options->tasks, names_of_tasks() + ": small tasks that come along")
        ->delimiter(',')
        ->type_name("NAME,...")
        ->allow_extra_args(false);
    app.add_option(
           "--context",
           options->context,
           "tokens of a window of the text (1024, or the model's context if that is less)"
    )
        ->check(CLI::Range(2U, kContextMost));
    app.add_option(
           "--stride",
           options->stride,
           "each window begins so many tokens after the one before (half the context)"
    )
        ->check(CLI::Range(1U, kContextMost));
    add_exit_flags(app, *options);
    app.add_option("--stages", options->stages, "stages of the model, for --path")
        ->check(CLI::Range(1U, protocol::kHopsMax))
        ->capture_default_str()
        ->excludes("--exit")
        ->excludes("--exit-cost");
    app.add_option("--path", options->path, "A,B,...: stages in this order (default: each once)")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->excludes("--exit")
        ->excludes("--exit-cost");
    add_adapter(app, options->adapter);
    add_weights(app, options->weights);
    add_threads(app, "threads that compute; no bit depends on it (auto)", options->threads);
    add_json(app, "write the figures", options->json_file);
    when_named(app, [on_chosen, options] {
        if (options->texts.empty() && options->tasks.empty()) {
            throw CLI::ValidationError("eval", "wants --text FILE or --tasks " + names_of_tasks());
        }
        const bool asks_exits = !options->exits.empty() || options->exit_cost.has_value();
        if (!options->exits_at.empty() && !asks_exits) {
            throw CLI::ValidationError("--exits-at", "wants --exit P or --exit-cost PERCENT");
        }
        if (asks_exits && options->texts.empty()) {
            throw CLI::ValidationError(
                options->exits.empty() ? "--exit-cost" : "--exit", "wants --text FILE"
            );
        }
        for (const std::string& name : options->tasks) {
            if (name != kAllTasks && find_task(name) == nullptr) {
                throw CLI::ValidationError(
                    "--tasks", "there is no task " + name + "; it is one of: " + names_of_tasks()
                );
            }
        }
        on_chosen(ChosenVerb(*options, evaluate));
    });
}

}  // namespace swarm::cli

#include "stacking/models/averages/model_average.hpp"
#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/stack/mix.hpp"
#include "swarm/run/training/mixture.hpp"

#include <CLI/CLI.hpp>
#include <cstddef>
#include <memory>

namespace swarm::cli {
namespace {

constexpr const char* kMixExamples = R"(
examples:
  swarm stack mix runs/austen runs/code runs/letters -o mixed
  swarm train --init mixed --corpus all.txt --steps 100      # the routers learn whom to ask
  swarm train --init mixed --corpus all.txt --set 'train.freeze=["experts"]'
  swarm train --init mixed --corpus all.txt --stages 12 \
    --set run.expert_stages=2                                # 6 layers: a peer has half of one
  swarm stack mix runs/base --copies 4 -o upcycled           # experts that begin alike
Branch-Train-MiX (Sukhbaatar et al. 2024): the feed-forward part of each model becomes an expert of
every layer, the rest of the models is averaged, and routers are drawn anew; so the result wants a
short training, which is a run like any other. Members are models of one of the families llama,
mistral and qwen3 that began alike, such as those of swarm stack branch. The folder loads in
transformers as a Mixtral, that of qwen3 members as a Qwen3-MoE. --top: as many as there are experts
mixes all of them for each token.)";

constexpr const char* kJoinExamples = R"(
examples:
  swarm stack new chain.toml --mode chain --member runs/a --member runs/b@1-5
  swarm stack join chain.toml -o joined
  swarm train --init joined --corpus all.txt --steps 100     # trains the chain as a whole
The layers of the members become one model, with the embedding of the first and the head of the
last. It computes what the chain does, and is trained, exported and served like any model.)";

void add_into_folder(CLI::App& app, std::string& folder) {
    app.add_option("-o,--out", folder, "an empty folder, or a new one")
        ->type_name("DIR")
        ->required();
}

}  // namespace

void add_mix(CLI::App& stack, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(stack, "mix", "Write models as the experts of one model", kMixExamples);
    const auto options = std::make_shared<StackMixOptions>();
    app.add_option("models", options->models, kModelHelp)->type_name("MODEL")->required();
    add_into_folder(app, options->folder);
    app.add_option("--top", options->top, "experts that compute each token")
        ->check(CLI::Range(1U, run::kExpertsMax))
        ->capture_default_str();
    app.add_option("--copies", options->copies, "experts that each model becomes")
        ->check(CLI::Range(1U, run::kExpertsMax))
        ->capture_default_str();
    app.add_option("--seed", options->seed, "seed of the routers")->capture_default_str();
    when_named(app, [on_chosen, options] {
        constexpr std::size_t kMost = stacking::models::kAveragedMax;
        if (options->models.size() > kMost) {
            throw CLI::ValidationError("models", "wants at most " + std::to_string(kMost));
        }
        if (options->models.size() * std::size_t{options->copies} < options->top) {
            throw CLI::ValidationError(
                "--top", "is more than there are experts: one per model and copy"
            );
        }
        on_chosen(ChosenVerb(*options, mix_models));
    });
}

void add_join(CLI::App& stack, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(stack, "join", "Write a chain as one model", kJoinExamples);
    const auto options = std::make_shared<StackJoinOptions>();
    app.add_option("file", options->file, "a stack of mode chain")
        ->type_name("STACK.toml")
        ->required();
    add_into_folder(app, options->folder);
    when_named<StackJoinOptions>(app, on_chosen, options, join_chain);
}

}  // namespace swarm::cli

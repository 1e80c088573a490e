#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/judge/judge.hpp"
#include "swarm/cli/judge/recipes.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>

namespace swarm::cli {
namespace {

constexpr const char* kJudgeExamples = R"(
examples:
  swarm stack judge austen.txt code.txt letters.txt -o judged
  swarm stack judge a.txt b.txt -o judged --recipes dense,ensemble,average --seeds 1
  swarm stack judge a.txt b.txt c.txt -o judged --set model.width=256 --set model.layers=8 \
    --steps 400 --budget 8h
  swarm stack judge a.txt b.txt c.txt -o judged --seeds 1 --first-seed 2     # on another machine
  swarm stack judge a.txt b.txt -o judged --init runs/mine --set optimizer.learning_rate=0.0003
The last tenth of each text is held out. A base is trained on all texts, and members go on from it,
each on one domain, on a part of all texts that was dealt at random, or on a cluster. All recipes
train on the same number of tokens; dense-2.5 is the control with more. One model takes them in
more steps than a member does, or, with a large batch, in as many. With --budget no training begins
after that time; the same command goes on later. Seeds may be trained on several machines: with
their folders (judged/seed-2, ..) in one place, the command measures them all. judged/table.md and
judged/plot.svg have the result. A recipe that the gate refuses is worse than its best member alone.
Each training begins with the whole learning rate: behind a long base, or the model of --init, a
third of the usual one lets short trainings lose less of what is known.)";

constexpr std::size_t kDomainsMost = 8;

/// Keys in which the trainings of a judge differ. As a setting of all they would change, or end,
/// some recipes hours later.
constexpr std::array kKeysOfRecipes{
    "run.corpus",
    "run.init",
    "run.seed",
    "run.stages",
    "run.steps",
    "train.freeze",
    "train.exits",
    "loop.every"};

void check_settings(const JudgeOptions& options) {
    for (const auto& [key, value] : options.settings) {
        if (!options.init.empty() && is_shape(key)) {
            throw CLI::ValidationError(
                "--set", key + " is what the model of --init has; leave it out"
            );
        }
        if (std::ranges::find(kKeysOfRecipes, key) != kKeysOfRecipes.end()) {
            throw CLI::ValidationError(
                "--set", key + " is what the recipes differ in; leave it out"
            );
        }
    }
}

}  // namespace

void add_judge(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(
        *program.get_subcommand("stack"),
        "judge",
        "Train and measure each recipe on some domains",
        kJudgeExamples
    );
    const auto options = std::make_shared<JudgeOptions>();
    app.add_option("sources", options->sources, "a text per domain, 2 to 8 of them")
        ->type_name("TEXT")
        ->required();
    app.add_option("-o,--out", options->folder, "folder of the trainings and the table")
        ->type_name("DIR")
        ->required();
    std::vector<std::string> names = recipe_names();
    names.emplace_back(kAllRecipes);
    app.add_option("--recipes", options->recipes, "A,B,...: some of the recipes (all)")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember(names));
    app.add_option("--init", options->init, "model that the base begins with (random weights)")
        ->type_name("MODEL");
    app.add_option("--base-steps", options->base_steps, "steps of the base")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--steps", options->steps, "steps of each member")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--seeds", options->seeds, "times that everything is done, with another seed")
        ->check(CLI::Range(1U, 32U))
        ->capture_default_str();
    app.add_option("--first-seed", options->first_seed, "number of the first of them")
        ->check(CLI::Range(1U, 1'000'000U))
        ->capture_default_str();
    add_duration(app, "--budget", "no training begins after it (none)", [options](Duration time) {
        options->budget = time;
    });
    add_settings(
        app,
        "a key of the run files, such as model.width; not one in which the recipes differ",
        "KEY",
        options->settings
    );
    add_threads(app, "threads that train; the bits depend on them (1)", options->threads);
    add_json(app, "write the table", options->json_file);
    when_named(app, [on_chosen, options] {
        if (options->sources.size() < 2 || options->sources.size() > kDomainsMost) {
            throw CLI::ValidationError("sources", "wants 2 to 8 texts");
        }
        check_settings(*options);
        on_chosen(ChosenVerb(*options, judge_recipes));
    });
}

}  // namespace swarm::cli

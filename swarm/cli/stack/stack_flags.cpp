#include "stacking/composition/ensemble.hpp"
#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/stack/alignment/align.hpp"
#include "swarm/cli/stack/average.hpp"
#include "swarm/cli/stack/branch.hpp"
#include "swarm/cli/stack/clusters.hpp"
#include "swarm/cli/stack/mix.hpp"
#include "swarm/cli/stack/search.hpp"
#include "swarm/cli/stack/stack.hpp"

#include <CLI/CLI.hpp>
#include <memory>

namespace swarm::cli {
namespace {

constexpr const char* kStackExamples = R"(
examples:
  swarm stack branch runs/base --sources austen.txt code.txt -o members   # to be trained apart
  swarm stack new two.toml --member runs/austen --member runs/code
  swarm stack measure two.toml --text emma.txt --text main.cpp
  swarm stack train bridge.toml --text emma.txt     # of mode bridge
  swarm stack train chain.toml --whole --text all.txt -o whole   # of mode chain
  swarm stack show two.toml
  swarm stack soup runs/a runs/b runs/c -o soup --text held-out.txt
  swarm generate --stack two.toml "It is a truth")";

constexpr const char* kNewExamples = R"(
examples:
  swarm stack new two.toml --member runs/austen --member runs/code --prior 2,1
  swarm stack new chain.toml --mode chain --member runs/a --member runs/b
  swarm stack new deeper.toml --mode chain --member runs/a --member runs/a@2-5  # layers again
  swarm stack new cut.toml --mode chain --member runs/a --member runs/b@1-5
  swarm stack new bridge.toml --mode bridge --member runs/a --member runs/b
MODEL@A-B is a model's layers A to B, counted from 0, both included: runs/b@1-5 leaves out the first
of six. A chain of models over one embedding is often better when the later ones lack the layers
that read the embedding.)";

constexpr const char* kAddExamples = R"(
examples:
  swarm stack add two.toml runs/letters --prior 0.5
  swarm stack add chain.toml runs/c@1-5             # without its first layer
Figures that were measured with fewer members are dropped.)";

constexpr const char* kRemoveExamples = R"(
examples:
  swarm stack remove two.toml runs/letters
Its model stays. Figures that were measured with more members are dropped.)";

constexpr const char* kMeasureExamples = R"(
examples:
  swarm stack measure two.toml --text emma.txt --text main.cpp
  swarm stack measure two.toml --text emma.txt --tokens 65536 --window 128 --weights int8
The exit code is 3 when the stack predicts these texts worse than its best member alone. In a chain
a member alone is its whole model, whichever layers the chain has of it.)";

constexpr const char* kStackShowExamples = R"(
examples:
  swarm stack show two.toml)";

constexpr double kPriorMost = 1e6;
constexpr double kPriorLeast = 1e-6;

void add_file(CLI::App& app, std::string& file) {
    app.add_option("stack", file, "the file of the stack")->type_name("STACK.toml")->required();
}

auto prior_range() {
    return number_within(kPriorLeast, kPriorMost);
}

void add_new(CLI::App& stack, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(stack, "new", "Write a stack of these members", kNewExamples);
    const auto options = std::make_shared<StackNewOptions>();
    add_file(app, options->file);
    app.add_option("--member", options->members, "a model: a file, a folder or a name")
        ->type_name("MODEL[@A-B]")
        ->required();
    app.add_option("--prior", options->priors, "A,B,...: how much each counts at first (1)")
        ->delimiter(',')
        ->check(prior_range());
    app.add_option(
           "--mode",
           options->mode,
           "ensemble; chain: layers after layers; bridge: the same over a trained map"
    )
        ->check(CLI::IsMember({"ensemble", "chain", "bridge"}))
        ->capture_default_str();
    CLI::Option* const clusters =
        app.add_option(
               "--clusters", options->clusters, "of swarm stack clusters: member N knows cluster N"
        )
            ->type_name("FILE");
    app.add_option("--experts", options->experts, "members that a text has by its clusters (all)")
        ->check(CLI::Range(std::size_t{1}, stacking::composition::kMembersMax))
        ->needs(clusters);
    when_named<StackNewOptions>(app, on_chosen, options, new_stack);
}

void add_add(CLI::App& stack, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(stack, "add", "Add a member", kAddExamples);
    const auto options = std::make_shared<StackAddOptions>();
    add_file(app, options->file);
    app.add_option("member", options->member, "a model: a file, a folder or a name")
        ->type_name("MODEL[@A-B]")
        ->required();
    app.add_option("--prior", options->prior, "how much it counts at first")
        ->check(prior_range())
        ->capture_default_str();
    when_named<StackAddOptions>(app, on_chosen, options, add_to_stack);
}

void add_remove(CLI::App& stack, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(stack, "remove", "Remove a member", kRemoveExamples);
    const auto options = std::make_shared<StackRemoveOptions>();
    add_file(app, options->file);
    app.add_option("member", options->member, "the member, as the file names it")
        ->type_name("MODEL[@A-B]")
        ->required();
    when_named<StackRemoveOptions>(app, on_chosen, options, remove_from_stack);
}

void add_measure(CLI::App& stack, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(stack, "measure", "Losses of members and stack on texts", kMeasureExamples);
    const auto options = std::make_shared<StackMeasureOptions>();
    add_file(app, options->file);
    app.add_option("--text", options->texts, "a text to predict (repeatable)")
        ->type_name("FILE")
        ->required();
    app.add_option("--tokens", options->tokens, "tokens of each text, at most")
        ->check(CLI::Range(2U, 1U << 24))
        ->capture_default_str();
    app.add_option("--window", options->window, "tokens read in one go (256)")
        ->check(CLI::Range(2U, 1U << 18));
    add_weights(app, options->weights);
    add_threads(app, "threads that compute; no bit depends on it (auto)", options->threads);
    when_named<StackMeasureOptions>(app, on_chosen, options, measure_stack);
}

void add_show_verb(CLI::App& stack, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(stack, "show", "Members, what was measured, and the verdict", kStackShowExamples);
    const auto options = std::make_shared<StackShowOptions>();
    add_file(app, options->file);
    when_named<StackShowOptions>(app, on_chosen, options, show_stack);
}

}  // namespace

void add_stack(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(program, "stack", "Several models as one, and whether it pays", kStackExamples);
    app.require_subcommand(1);
    add_branch(app, on_chosen);
    add_grow(app, on_chosen);
    add_clusters(app, on_chosen);
    add_new(app, on_chosen);
    add_add(app, on_chosen);
    add_remove(app, on_chosen);
    add_measure(app, on_chosen);
    add_stack_train(app, on_chosen);
    add_show_verb(app, on_chosen);
    add_average(app, on_chosen);
    add_soup(app, on_chosen);
    add_mix(app, on_chosen);
    add_join(app, on_chosen);
    add_states(app, on_chosen);
    add_targets(app, on_chosen);
    add_align(app, on_chosen);
    add_search(app, on_chosen);
}

}  // namespace swarm::cli

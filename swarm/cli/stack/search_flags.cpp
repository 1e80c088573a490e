#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/stack/search.hpp"

#include <CLI/CLI.hpp>
#include <memory>

namespace swarm::cli {
namespace {

constexpr const char* kSearchExamples = R"(
examples:
  swarm stack search all.toml --text held-out.txt              # the ten best subsets
  swarm stack search all.toml --text held-out.txt -o best.toml
  swarm stack search chain.toml --text held-out.txt --budget 120   # all orders of five members
With room in the budget all subsets of an ensemble, or all orders of a chain, are tried; else the
best member, and then whatever helps most, one after the other. A subset costs little, because it
needs no model; an order reads the texts anew.)";

}  // namespace

void add_search(CLI::App& stack, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(
        stack, "search", "Find the members or the order that predict texts best", kSearchExamples
    );
    const auto options = std::make_shared<StackSearchOptions>();
    app.add_option("stack", options->file, "the file of the stack")
        ->type_name("STACK.toml")
        ->required();
    app.add_option("--text", options->texts, "a text to predict (repeatable)")
        ->type_name("FILE")
        ->required();
    app.add_option("-o,--out", options->out, "file for the best stack")->type_name("STACK.toml");
    app.add_option("--budget", options->budget, "tries at most (1024 subsets, or 24 orders)")
        ->check(CLI::Range(1U, 1U << 16));
    app.add_option("--tokens", options->tokens, "tokens of each text, at most")
        ->check(CLI::Range(2U, 1U << 24))
        ->capture_default_str();
    add_weights(app, options->weights);
    add_threads(app, "threads that compute; no bit depends on it (auto)", options->threads);
    when_named<StackSearchOptions>(app, on_chosen, options, search_stack);
}

}  // namespace swarm::cli

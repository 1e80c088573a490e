#include "swarm/cli/stack/stack_flags.hpp"

#include <CLI/CLI.hpp>

namespace swarm::cli {
namespace {

constexpr const char* kExamples = R"(
examples:
  swarm stack new two.toml --member runs/austen --member runs/code
  swarm stack measure two.toml --text emma.txt --text main.cpp
  swarm stack train bridge.toml --text emma.txt     # of mode bridge
  swarm stack show two.toml
  swarm generate --stack two.toml "It is a truth")";

constexpr const char* kNewExamples = R"(
examples:
  swarm stack new two.toml --member runs/austen --member runs/code --prior 2,1
  swarm stack new chain.toml --mode chain --member runs/a --member runs/b
  swarm stack new deeper.toml --mode chain --member runs/a --member runs/a@2-5  # layers again
  swarm stack new bridge.toml --mode bridge --member runs/a --member runs/b)";

constexpr const char* kAddExamples = R"(
examples:
  swarm stack add two.toml runs/letters --prior 0.5
What was measured with fewer members is dropped.)";

constexpr const char* kMeasureExamples = R"(
examples:
  swarm stack measure two.toml --text emma.txt --text main.cpp
  swarm stack measure two.toml --text emma.txt --tokens 65536 --window 128 --weights int8
Exit code 3 when the stack predicts these texts worse than its best member alone.)";

constexpr const char* kTrainExamples = R"(
examples:
  swarm stack train bridge.toml --text emma.txt
  swarm stack train bridge.toml --text emma.txt --steps 1000 --batch 16 --window 256
Both members stay as they are; what is trained is the map between them. What was measured with
another bridge is dropped.)";

constexpr const char* kShowExamples = R"(
examples:
  swarm stack show two.toml)";

constexpr double kPriorMost = 1e6;
constexpr double kPriorLeast = 1e-6;
constexpr double kRateMost = 1;
constexpr double kRateLeast = 1e-9;

void add_training(CLI::App& app, StackTrainOptions& train) {
    app.add_option("--text", train.texts, "what to learn from; may come again")
        ->type_name("FILE")
        ->required();
    app.add_option("--steps", train.steps, "of the optimizer")
        ->check(CLI::Range(1U, 1U << 20))
        ->capture_default_str();
    app.add_option("--batch", train.batch, "windows per step")
        ->check(CLI::Range(1U, 1024U))
        ->capture_default_str();
    app.add_option("--window", train.window, "tokens read in one go")
        ->check(CLI::Range(2U, 1U << 14))
        ->capture_default_str();
    app.add_option("--learning-rate", train.learning_rate, "its highest")
        ->check(CLI::Range(kRateLeast, kRateMost))
        ->capture_default_str();
    app.add_option("--seed", train.seed, "of the windows")->capture_default_str();
    app.add_option("--device", train.device, "auto, cpu or cuda:N")->capture_default_str();
}

}  // namespace

StackVerbs::StackVerbs(CLI::App& root, const std::string& exit_codes) {
    CLI::App& app = *root.add_subcommand("stack", "Several models as one, and whether it pays");
    app.footer(std::string(kExamples) + "\n" + exit_codes);
    app.require_subcommand(1);
    const auto verb = [&](const char* name, const char* what, const char* examples) {
        CLI::App* const sub = app.add_subcommand(name, what);
        sub->footer(std::string(examples) + "\n" + exit_codes);
        return sub;
    };
    const auto file = [](CLI::App* sub, std::string& into) {
        sub->add_option("stack", into, "the stack's file")->type_name("STACK.toml")->required();
    };
    const CLI::Range prior(kPriorLeast, kPriorMost);

    new_ = verb("new", "Write a stack of these members", kNewExamples);
    file(new_, new_options_.file);
    new_->add_option("--member", new_options_.members, "a model: a file, a folder or a name")
        ->type_name("MODEL[@A-B]")
        ->required();
    new_->add_option("--prior", new_options_.priors, "A,B,...: how much each counts at first (1)")
        ->delimiter(',')
        ->check(prior);
    new_->add_option(
            "--mode",
            new_options_.mode,
            "ensemble; chain: layers after layers; bridge: the same over a trained map"
    )
        ->check(CLI::IsMember({"ensemble", "chain", "bridge"}))
        ->capture_default_str();

    add_ = verb("add", "Add a member", kAddExamples);
    file(add_, add_options_.file);
    add_->add_option("member", add_options_.member, "a model: a file, a folder or a name")
        ->type_name("MODEL")
        ->required();
    add_->add_option("--prior", add_options_.prior, "how much it counts at first")
        ->check(prior)
        ->capture_default_str();

    measure_ = verb("measure", "Losses of members and stack on texts", kMeasureExamples);
    file(measure_, measure_options_.file);
    measure_->add_option("--text", measure_options_.texts, "what to predict; may come again")
        ->type_name("FILE")
        ->required();
    measure_->add_option("--tokens", measure_options_.tokens, "of each text, at most")
        ->check(CLI::Range(2U, 1U << 24))
        ->capture_default_str();
    measure_->add_option("--window", measure_options_.window, "tokens read in one go (256)")
        ->check(CLI::Range(2U, 1U << 18));
    measure_->add_option("--weights", measure_options_.weights, "keep weights as fp32, bf16, int8")
        ->check(CLI::IsMember({"fp32", "bf16", "int8"}))
        ->capture_default_str();

    train_ = verb("train", "Train the bridge between two members", kTrainExamples);
    file(train_, train_options_.file);
    add_training(*train_, train_options_);

    show_ = verb("show", "Members, what was measured, and the verdict", kShowExamples);
    file(show_, show_options_.file);
}

Command StackVerbs::command() const {
    if (new_->parsed()) {
        return new_options_;
    }
    if (add_->parsed()) {
        return add_options_;
    }
    if (measure_->parsed()) {
        return measure_options_;
    }
    if (train_->parsed()) {
        return train_options_;
    }
    return show_options_;
}

}  // namespace swarm::cli

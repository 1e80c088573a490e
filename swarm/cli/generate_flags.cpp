#include "swarm/cli/generate_flags.hpp"

#include "stacking/row_coding.hpp"
#include "swarm/cli/flags.hpp"
#include "swarm/protocol/limits.hpp"

#include <CLI/CLI.hpp>
#include <string>

namespace swarm::cli {
namespace {

constexpr const char* kGenerateExamples = R"(
examples:
  swarm generate --model smollm2 "What is the capital of France?"
  swarm generate --model smollm2 --raw --weights int8 --max-tokens 48 "The old lighthouse"
  swarm generate --model runs/austen "It is a truth universally"  # what a run has trained
  swarm generate --model llama.gguf --temperature 0.8 --seed 7 --json out.json "Tell me a story"
  swarm generate --model smollm2 --join 192.168.1.7:7118 "Why is the sky blue?"   # by peers
  swarm generate --stack two.toml --join 192.168.1.7:7118 "It is a truth"         # by peers
  swarm generate --join 192.168.1.7:7117 "It is a truth universally"              # of a run
  swarm generate --join 192.168.1.7:7117 --tokens 400 --temperature 0.8 --seed 7 "Emma")";

/// Flags that mean something only with --model, and some of them only with its peers.
void add_model_generation(
    CLI::App& app, GenerateOptions& generate, CLI::Option* model, CLI::Option* join
) {
    // With --join alone a run's peers answer, which have none of these.
    app.add_flag("--raw", generate.raw, "continue the text as it is, without the chat template");
    app.add_flag("--ignore-eos", generate.ignore_eos, "go on after the end of the answer");
    add_weights(app, generate.weights)->excludes(join);
    add_replay(app, generate.replay)->needs(join);
    for (CLI::Option* const option : add_path(app, generate.path, generate.exit_threshold)) {
        option->needs(model);
    }
    app.add_option(
           "--stages", generate.stages, "of the model in this process, for --path, --exit, --codec"
    )
        ->check(CLI::Range(1U, protocol::kHopsMax))
        ->needs(model)
        ->excludes(join)
        ->capture_default_str();
    const auto take_codecs = [&generate](const std::string& names) {
        const auto codecs = stacking::parse_row_codecs(names);
        if (!codecs) {
            throw CLI::ValidationError("--codec", "wants auto, " + stacking::row_codec_names());
        }
        generate.codecs = *codecs;
    };
    app.add_option_function<std::string>(
           "--codec",
           take_codecs,
           "of the rows between stages: " + stacking::row_codec_names() +
               "; auto: as each link needs it; A,B,...: link by link (default: none)"
    )
        ->needs(model)
        ->type_name("NAME");
    app.add_option("--json", generate.json_file, "write ids, text and speeds")->type_name("FILE");
}

}  // namespace

void add_generate(CLI::App& root, GenerateOptions& generate) {
    CLI::App& app = *root.add_subcommand("generate", "Continue a text, or answer one");
    app.footer(std::string(kGenerateExamples) + "\n" + kExitCodes);
    auto* const join = app.add_option(
                              "--join",
                              generate.join,
                              "the coordinator of a run, or a directory with --model or --stack"
    )
                           ->type_name("HOST:PORT");
    auto* const model = app.add_option("--model", generate.model, kModelHelp)->type_name("MODEL");
    auto* const stack =
        app.add_option("--stack", generate.stack, "several models as one: see swarm stack")
            ->type_name("STACK.toml");
    stack->excludes(model);
    app.add_option("prompt,--prompt", generate.prompt, "the text to continue, or the question")
        ->required();
    app.add_option("--tokens,--max-tokens", generate.tokens, "how many to add at most")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--temperature", generate.temperature, "0: always the likeliest")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    app.add_option("--seed", generate.seed, "of the sampling")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    add_model_generation(app, generate, model, join);
    add_duration(app, "--wait", "how long to wait for an answer (60s)", [&](Duration wait) {
        generate.wait = wait;
    })->needs(join);
    add_duration(
        app,
        "--late",
        "a member this much later than the first one is left out (10s)",
        [&](Duration late) { generate.late_after = late; }
    )
        ->needs(stack)
        ->needs(join);
    app.add_option("--swarm-key", generate.swarm_key_file, "the secret of a private run")
        ->type_name("FILE")
        ->needs(join);
    app.add_option(
           "--tokenizer",
           generate.tokenizer_file,
           "of a run with spm:N: tokenizer.model in its folder"
    )
        ->type_name("FILE")
        ->needs(join)
        ->excludes(model)
        ->excludes(stack);
    app.callback([&app, join, model, stack] {
        if (join->count() + model->count() + stack->count() == 0) {
            throw CLI::ValidationError(
                "generate", "wants --model NAME, --stack STACK.toml or --join HOST:PORT"
            );
        }
        for (const char* flag : {"--raw", "--ignore-eos", "--json", "--replay"}) {
            if (model->count() + stack->count() == 0 && app.count(flag) > 0) {
                throw CLI::ValidationError(flag, "wants --model or --stack");
            }
        }
    });
}

}  // namespace swarm::cli

#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/common/join_address.hpp"
#include "swarm/cli/generate/generate.hpp"
#include "swarm/protocol/limits.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace swarm::cli {
namespace {

constexpr const char* kGenerateExamples = R"(
examples:
  swarm generate --model smollm2 "What is the capital of France?"
  swarm generate --model smollm2 --raw --weights int8 --max-tokens 48 "The old lighthouse"
  swarm generate --model runs/austen "It is a truth universally"  # what a run has trained
  swarm generate --model smollm2 --adapter adapters "Why is the sky blue?"
  swarm generate --model smollm2 - <question.txt
  swarm generate --model llama.gguf --temperature 0.8 --seed 7 --json out.json "Tell me a story"
  swarm generate --model smollm2 --join 192.168.1.7:7118 "Why is the sky blue?"   # by peers
  swarm generate --stack two.toml --join 192.168.1.7:7118 "It is a truth"         # by peers
  swarm generate --join 192.168.1.7:7117 "It is a truth universally"              # of a run
  swarm generate --join 192.168.1.7:7117 --tokens 400 --temperature 0.8 --seed 7 "Emma")";

constexpr double kBiasMost = 100;

/// Where the answer comes from.
struct Sources {
    CLI::Option* join;
    CLI::Option* model;
    CLI::Option* stack;
};

Sources add_sources(CLI::App& app, GenerateOptions& generate) {
    Sources sources{};
    sources.join = app.add_option(
                          "--join",
                          generate.join,
                          "the coordinator of a run, or a directory with --model or --stack"
    )
                       ->type_name("[NAME@]HOST[:PORT]");
    sources.model = app.add_option("--model", generate.model, kModelHelp)->type_name("MODEL");
    sources.stack =
        app.add_option("--stack", generate.stack, "several models as one: see swarm stack")
            ->type_name("STACK.toml");
    sources.stack->excludes(sources.model);
    return sources;
}

void add_question(CLI::App& app, GenerateOptions& generate) {
    app.add_option(
           "prompt,--prompt",
           generate.prompt,
           "the text to continue, or the question; -: from stdin"
    )
        ->required();
    app.add_option("--tokens,--max-tokens", generate.tokens, "how many to add at most")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    add_sampling_flags(app, {generate.temperature, generate.top_p, generate.top_k});
    add_stops(app, generate.stops);
    app.add_option("--seed", generate.seed, "seed of the sampling")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
}

/// Flags that mean something only with --model or --stack, and some of them only with its peers.
void add_model_flags(CLI::App& app, GenerateOptions& generate, const Sources& sources) {
    CLI::Option* const raw = app.add_flag(
        "--raw", generate.raw, "continue the text as it is, without the chat template"
    );
    add_system(app, generate.system)->excludes(raw);
    app.add_flag("--ignore-eos", generate.ignore_eos, "go on after the end of the answer");
    add_adapter(app, generate.adapter)->needs(sources.model)->excludes(sources.join);
    add_weights(app, generate.weights)->excludes(sources.join);
    add_threads(app, "threads that compute; no bit depends on it (auto)", generate.threads)
        ->excludes(sources.join);
    add_replay(app, generate.replay)->needs(sources.join);
    add_guesses(app, generate.guesses_max)->needs(sources.join);
    for (CLI::Option* const option : add_path(app, generate.path, generate.exit_threshold)) {
        option->needs(sources.model);
    }
    app.add_option(
           "--stages",
           generate.stages,
           "stages of the model in this process, for --path, --exit, --codec"
    )
        ->check(CLI::Range(1U, protocol::kHopsMax))
        ->needs(sources.model)
        ->excludes(sources.join)
        ->capture_default_str();
    app.add_option(
           "--exits-at",
           generate.exits_at,
           "numbers of layers behind which a stage ends, in place of --stages, for --exit (those "
           "of a run's train.exits)"
    )
        ->delimiter(',')
        ->type_name("LAYERS,...")
        ->allow_extra_args(false)
        ->needs(sources.model)
        ->excludes(sources.join)
        ->excludes("--stages");
    add_row_codecs(app, generate.codecs)->needs(sources.model);
    add_json(app, "write ids, text and speeds", generate.json_file);
}

/// Reads "ID:BIAS".
protocol::TokenBias parse_bias(const std::string& text) {
    protocol::TokenBias bias;
    char rest = 0;
    const int read = std::sscanf(text.c_str(), "%" SCNu32 ":%lf%c", &bias.token, &bias.bias, &rest);
    if (read != 2 || !(std::abs(bias.bias) <= kBiasMost) || text.front() == '-') {
        throw CLI::ValidationError(
            "--logit-bias", "wants the id of a token and a number from -100 to 100, as in 42:-100"
        );
    }
    return bias;
}

/// Flags of a draw that the peers of a model make; protocol::Sampling says what they do.
void add_draw_flags(CLI::App& app, GenerateOptions& generate, const Sources& sources) {
    constexpr double kMost = 100;
    const auto add = [&](const char* name, const char* help, double& value, double least) {
        return app.add_option(name, value, help)
            ->check(number_within(least, kMost))
            ->needs(sources.join)
            ->needs(sources.model);
    };
    add("--repetition-penalty",
        "above 1: tokens of the text are less likely",
        generate.repetition_penalty,
        0);
    add("--presence-penalty",
        "taken off tokens of the answer so far",
        generate.presence_penalty,
        -kMost);
    add("--frequency-penalty",
        "the same for each time that they came",
        generate.frequency_penalty,
        -kMost);
    app.add_option(
           "--min-p", generate.min_p, "draw from tokens at least this part as likely as the best"
    )
        ->check(number_within(0, 1))
        ->needs(app.get_option("--temperature"))
        ->needs(sources.join)
        ->needs(sources.model);
    const auto take_biases = [&generate](const std::vector<std::string>& texts) {
        std::ranges::transform(texts, std::back_inserter(generate.biases), parse_bias);
    };
    app.add_option_function<std::vector<std::string>>(
           "--logit-bias", take_biases, "make tokens likelier, or with -100 impossible: 42:-100,7:2"
    )
        ->delimiter(',')
        ->type_name("ID:BIAS")
        ->needs(sources.join)
        ->needs(sources.model);
}

/// Flags that mean something only with peers.
void add_peer_flags(CLI::App& app, GenerateOptions& generate, const Sources& sources) {
    const auto set_wait = [&generate](Duration wait) { generate.wait = wait; };
    add_duration(app, "--wait", "how long to wait for an answer (60s)", set_wait)
        ->needs(sources.join);
    const auto set_late = [&generate](Duration late) { generate.late_after = late; };
    add_duration(
        app, "--late", "a member this much later than the first one is left out (10s)", set_late
    )
        ->needs(sources.stack)
        ->needs(sources.join);
    add_digests(app, generate.digests)->needs(sources.model)->needs(sources.join);
    add_forget(app, generate.owner.forget)->needs(sources.join);
    add_swarm_key(app, "the secret of a private run", generate.swarm_key_file)->needs(sources.join);
    app.add_option(
           "--tokenizer",
           generate.tokenizer_file,
           "file of the run's tokenizer (default: the coordinator gives it)"
    )
        ->type_name("FILE")
        ->needs(sources.join)
        ->excludes(sources.model)
        ->excludes(sources.stack);
}

/// Rules between several flags.
void check_sources(const CLI::App& app, const Sources& sources) {
    const bool of_models = sources.model->count() + sources.stack->count() > 0;
    if (!of_models && sources.join->count() == 0) {
        throw CLI::ValidationError(
            "generate", "wants --model NAME, --stack STACK.toml or --join HOST:PORT"
        );
    }
    for (const char* flag : {"--raw", "--system", "--ignore-eos", "--json", "--replay"}) {
        if (!of_models && app.count(flag) > 0) {
            throw CLI::ValidationError(flag, "wants --model or --stack");
        }
    }
}

}  // namespace

void add_generate(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(program, "generate", "Continue a text, or answer one", kGenerateExamples);
    const auto options = std::make_shared<GenerateOptions>();
    const Sources sources = add_sources(app, *options);
    add_question(app, *options);
    add_model_flags(app, *options, sources);
    add_peer_flags(app, *options, sources);
    add_draw_flags(app, *options, sources);
    when_named(app, [&app, sources, on_chosen, options] {
        check_sources(app, sources);
        if (!options->join.empty()) {
            const bool of_run = options->model.empty() && options->stack.empty();
            const auto port = of_run ? kCoordinatorPort : kDirectoryPort;
            split_join(options->join, options->owner, port);
        }
        on_chosen(ChosenVerb(*options, cli::generate));
    });
}

}  // namespace swarm::cli

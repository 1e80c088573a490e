#include "swarm/cli/chat/chat.hpp"
#include "swarm/cli/common/flags.hpp"
#include "swarm/protocol/limits.hpp"

#include <CLI/CLI.hpp>
#include <memory>

namespace swarm::cli {
namespace {

constexpr const char* kChatExamples = R"(
examples:
  swarm chat --model smollm2
  swarm chat --model smollm2 --system "Answer in one sentence." --temperature 0.7
  swarm chat --model smollm2 --join 192.168.1.7:7118          # by peers
  printf 'Hello\nWhat did I say?\n' | swarm chat --model smollm2
Within the conversation /help shows the commands. Ctrl-C stops an answer, Ctrl-D ends.)";

constexpr std::uint32_t kAnswerTokens = 1024;

}  // namespace

void add_chat(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(program, "chat", "Talk with a model in the terminal", kChatExamples);
    const auto options = std::make_shared<ChatOptions>();
    GenerateOptions& generate = options->generate;
    generate.tokens = kAnswerTokens;
    CLI::Option* const join =
        app.add_option("--join", generate.join, "the directory of the peers that serve the model")
            ->type_name("[NAME@]HOST[:PORT]");
    CLI::Option* const model =
        app.add_option("--model", generate.model, kModelHelp)->type_name("MODEL");
    app.add_option("--stack", generate.stack, "several models as one: see swarm stack")
        ->type_name("STACK.toml")
        ->excludes(model);
    app.add_option("--tokens,--max-tokens", generate.tokens, "tokens of an answer at most")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    add_system(app, generate.system);
    add_sampling_flags(app, {generate.temperature, generate.top_p, generate.top_k});
    add_stops(app, generate.stops);
    app.add_option("--seed", generate.seed, "seed of the sampling")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    add_adapter(app, generate.adapter)->needs(model)->excludes(join);
    add_weights(app, generate.weights)->excludes(join);
    add_threads(app, "threads that compute; no bit depends on it (auto)", generate.threads)
        ->excludes(join);
    const auto set_wait = [&generate](Duration wait) { generate.wait = wait; };
    add_duration(app, "--wait", "how long to wait for an answer (60s)", set_wait)->needs(join);
    add_swarm_key(app, "the secret of a private swarm", generate.swarm_key_file)->needs(join);
    add_forget(app, generate.owner.forget)->needs(join);
    add_guesses(app, generate.guesses_max)->needs(join);
    when_named(app, [on_chosen, options] {
        if (options->generate.model.empty() && options->generate.stack.empty()) {
            throw CLI::ValidationError("chat", "wants --model NAME or --stack STACK.toml");
        }
        if (!options->generate.join.empty()) {
            split_join(options->generate.join, options->generate.owner, kDirectoryPort);
        }
        on_chosen(ChosenVerb(*options, chat));
    });
}

}  // namespace swarm::cli

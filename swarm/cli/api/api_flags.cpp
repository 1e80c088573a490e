#include "swarm/cli/api/api.hpp"
#include "swarm/cli/common/flags.hpp"
#include "swarm/http/api_keys.hpp"
#include "swarm/protocol/limits.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace swarm::cli {
namespace {

constexpr const char* kApiExamples = R"(
examples:
  swarm api --model smollm2 --join 192.168.1.7:7118       # http://127.0.0.1:8080/v1
  swarm api --stack two.toml --join 192.168.1.7:7118 --port 9000
  swarm api --model smollm2 --join 192.168.1.7:7118 --listen '*:8443' --tls --keys keys.txt
then, with any client of OpenAI's API:
  curl http://127.0.0.1:8080/v1/chat/completions -d '{"messages": [{"role": "user",
    "content": "What is the capital of France?"}], "stream": true}')";

void add_model_flags(CLI::App& app, ApiOptions& api) {
    app.add_option("--join", api.join, "the directory whose peers answer")
        ->type_name("[NAME@]HOST[:PORT]")
        ->required();
    CLI::Option* const model = app.add_option("--model", api.model, kModelHelp);
    model->type_name("MODEL");
    app.add_option("--stack", api.stack, "several models as one: see swarm stack")
        ->type_name("STACK.toml")
        ->excludes(model);
    app.add_option("--name", api.name, "the model's name for clients (default: its own)")
        ->type_name("NAME");
    app.add_option(
           "--answer-tokens", api.answer_tokens, "of a chat whose client names no bound, at most"
    )
        ->check(CLI::Range(1U, protocol::kPositionsMax))
        ->capture_default_str();
    add_row_codecs(app, api.codecs);
    add_guesses(app, api.guesses_max);
    add_digests(app, api.digests)->needs(model);
}

/// Flags about those who may ask, and how.
void add_client_flags(CLI::App& app, ApiOptions& api) {
    CLI::Option* const listen =
        app.add_option("--listen", api.listen, "where clients ask; *:PORT: on all addresses")
            ->type_name("HOST:PORT")
            ->capture_default_str();
    const auto take_port = [&api](std::uint16_t port) {
        api.listen = "127.0.0.1:" + std::to_string(port);
    };
    app.add_option_function<std::uint16_t>(
           "--port", take_port, "where clients of this machine ask; 0: any"
    )
        ->type_name("PORT")
        ->excludes(listen);
    app.add_option("--keys", api.keys_file, std::string(http::kApiKeyFileHelp))->type_name("FILE");
    CLI::Option* const tls =
        app.add_flag("--tls", api.tls, "https, with a certificate that is made at each start");
    CLI::Option* const certificate =
        app.add_option("--tls-cert", api.certificate_file, "https, with this certificate (PEM)")
            ->type_name("FILE")
            ->excludes(tls);
    CLI::Option* const key =
        app.add_option("--tls-key", api.certificate_key_file, "the key of --tls-cert (PEM)")
            ->type_name("FILE")
            ->needs(certificate);
    certificate->needs(key);
    app.add_option(
           "--allow-origin", api.allowed_origin, "pages that may ask through a browser; *: all"
    )
        ->type_name("ORIGIN");
}

}  // namespace

void add_api(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(
        program, "api", "Answer clients of OpenAI's API by peers of a model", kApiExamples
    );
    const auto options = std::make_shared<ApiOptions>();
    add_model_flags(app, *options);
    add_client_flags(app, *options);
    const auto set_wait = [options](Duration wait) { options->wait = wait; };
    add_duration(app, "--wait", "how long an answer may make no progress (60s)", set_wait);
    add_forget(app, options->owner.forget);
    add_swarm_key(app, "the secret of a private run", options->swarm_key_file);
    when_named(app, [on_chosen, options] {
        if (options->model.empty() && options->stack.empty()) {
            throw CLI::ValidationError("api", "wants --model NAME or --stack STACK.toml");
        }
        split_join(options->join, options->owner, kDirectoryPort);
        on_chosen(ChosenVerb(*options, cli::api));
    });
}

}  // namespace swarm::cli

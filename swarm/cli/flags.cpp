#include "swarm/cli/flags.hpp"

#include "swarm/cli/options.hpp"

#include <CLI/CLI.hpp>
#include <utility>

namespace swarm::cli {

const char* const kExitCodes = R"(
exit codes: 0 done, 1 failure while running, 2 usage, 3 run file or model rejected,
            4 no peers or no coordinator in time, 130 and 143 after signals)";

const char* const kModelHelp =
    "a GGUF file, a Hugging Face folder, the folder of a run, or a name: smollm2";

CLI::Option* add_duration(
    CLI::App& app,
    const std::string& name,
    const std::string& help,
    std::function<void(Duration)> to
) {
    const auto take = [name, to = std::move(to)](const std::string& text) {
        const std::optional<Duration> duration = parse_duration(text);
        if (!duration) {
            throw CLI::ValidationError(name, "wants a time such as 500ms, 3s or 2m, not " + text);
        }
        to(*duration);
    };
    return app.add_option_function<std::string>(name, take, help)->type_name("TIME");
}

CLI::Option* add_weights(CLI::App& app, std::string& weights) {
    return app.add_option("--weights", weights, "keep weights as fp32, bf16 or int8")
        ->check(CLI::IsMember({"fp32", "bf16", "int8"}))
        ->capture_default_str();
}

CLI::Option* add_replay(CLI::App& app, std::string& replay) {
    return app
        .add_option(
            "--replay",
            replay,
            "how a lost peer's successor is refilled: exact repeats every call, fast reads it at "
            "once"
        )
        ->check(CLI::IsMember({"exact", "fast"}))
        ->capture_default_str();
}

}  // namespace swarm::cli

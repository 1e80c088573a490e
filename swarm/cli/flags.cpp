#include "swarm/cli/flags.hpp"

#include "swarm/cli/options.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <utility>

namespace swarm::cli {
namespace {

/// Bits per second, as lines are sold; in bytes.
std::optional<std::uint64_t> parse_rate(const std::string& text) {
    constexpr double kLeast = 1e3;
    constexpr double kMost = 1e12;
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [unit, error] = std::from_chars(text.data(), end, value);
    const std::string_view name(unit, static_cast<std::size_t>(end - unit));
    double bits = 0;
    if (name == "kb/s" || name == "kbit/s") {
        bits = value * 1e3;
    } else if (name == "Mb/s" || name == "Mbit/s") {
        bits = value * 1e6;
    } else if (name == "Gb/s" || name == "Gbit/s") {
        bits = value * 1e9;
    }
    if (error != std::errc{} || !(bits >= kLeast && bits <= kMost)) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(bits / 8);
}

}  // namespace

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

CLI::Option* add_rates(
    CLI::App& app,
    const std::string& name,
    const std::string& help,
    std::vector<std::uint64_t>& bytes_per_s
) {
    const auto take = [name, &bytes_per_s](const std::vector<std::string>& texts) {
        for (const std::string& text : texts) {
            const std::optional<std::uint64_t> rate = parse_rate(text);
            if (!rate) {
                throw CLI::ValidationError(
                    name, "wants a rate from 1kb/s to 1000Gb/s such as 10Mb/s, not " + text
                );
            }
            bytes_per_s.push_back(*rate);
        }
    };
    return app.add_option_function<std::vector<std::string>>(name, take, help)
        ->delimiter(',')
        ->type_name("RATE");
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

std::array<CLI::Option*, 2> add_path(
    CLI::App& app, std::vector<std::uint32_t>& path, double& exit_threshold
) {
    return {
        app.add_option("--path", path, "A,B,...: stages in this order (default: each once)")
            ->delimiter(','),
        app.add_option(
               "--exit",
               exit_threshold,
               "probability at which a stage with a head of its own ends a token's path (default: "
               "never)"
        )
            ->check(CLI::NonNegativeNumber)};
}

}  // namespace swarm::cli

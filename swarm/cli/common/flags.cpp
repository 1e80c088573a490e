#include "swarm/cli/common/flags.hpp"

#include "stacking/row_coding.hpp"
#include "swarm/cli/common/verb.hpp"
#include "swarm/net/rate_limit.hpp"
#include "swarm/protocol/limits.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <utility>

namespace swarm::cli {
namespace {

/// Reads bits per second, the unit in which lines are sold, and returns bytes per second.
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
            4 no peers or no coordinator in time, 130, 141 and 143 after signals)";

const char* const kModelHelp =
    "a GGUF file, a Hugging Face folder, the folder of a run, or a name: smollm2";

CLI::App& add_verb(CLI::App& parent, const char* name, const char* what, const char* examples) {
    CLI::App& app = *parent.add_subcommand(name, what);
    app.footer(std::string(examples) + "\n" + kExitCodes);
    return app;
}

void when_named(CLI::App& verb, std::function<void()> then) {
    verb.callback([&verb, then = std::move(then)] {
        if (verb.get_subcommands().empty()) {
            then();
        }
    });
}

std::optional<Duration> parse_duration(const std::string& text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [unit, error] = std::from_chars(text.data(), end, value);
    const std::string_view name(unit, static_cast<std::size_t>(end - unit));
    if (error != std::errc{} || !(value >= 0)) {
        return std::nullopt;
    }
    double seconds = 0;
    if (name.empty() || name == "s") {
        seconds = value;
    } else if (name == "ms") {
        seconds = value / 1000;
    } else if (name == "m") {
        seconds = value * 60;
    } else if (name == "h") {
        seconds = value * 3600;
    } else {
        return std::nullopt;
    }
    constexpr double kDay = 86'400;
    if (!(seconds <= kDay)) {
        return std::nullopt;
    }
    return Duration(static_cast<Duration::rep>(seconds * 1e9));
}

CLI::Option* add_duration(
    CLI::App& app,
    const std::string& name,
    const std::string& help,
    std::function<void(Duration)> to
) {
    const auto take = [name, to = std::move(to)](const std::string& text) {
        const std::optional<Duration> duration = parse_duration(text);
        if (!duration) {
            throw CLI::ValidationError(
                name, "wants a time such as 500ms, 3s, 2m or 1h, not " + text
            );
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

CLI::Option* add_limit(
    CLI::App& app, const std::string& name, const std::string& help, std::uint64_t& bytes_per_s
) {
    const auto take = [name, &bytes_per_s](const std::string& text) {
        const std::optional<std::uint64_t> rate = parse_rate(text);
        if (!rate || *rate < net::kLimitedBytesPerSMin) {
            throw CLI::ValidationError(
                name, "wants a rate from 64kb/s to 1000Gb/s such as 5Mb/s, not " + text
            );
        }
        bytes_per_s = *rate;
    };
    return app.add_option_function<std::string>(name, take, help)->type_name("RATE");
}

CLI::Option* add_size(
    CLI::App& app, const std::string& name, const std::string& help, std::uint64_t& bytes
) {
    constexpr bool kKbIs1000 = true;  // GB and GiB mean what they say
    return app.add_option(name, bytes, help)
        ->transform(CLI::AsSizeValue(kKbIs1000))
        ->type_name("SIZE");
}

CLI::Option* add_log_every(CLI::App& app, std::optional<Duration>& period) {
    return add_duration(
        app,
        "--log-every",
        "without a terminal: least time between the lines of two steps; 0s: each step has one "
        "(default: the first 60, then one in 10s)",
        [&period](Duration every) { period = every; }
    );
}

CLI::Option* add_json(CLI::App& app, const std::string& help, std::string& file) {
    return app.add_option("--json", file, help)->type_name("FILE");
}

CLI::Option* add_listen(CLI::App& app, const std::string& help, std::string& address) {
    return app.add_option("--listen", address, help)->type_name("HOST:PORT")->capture_default_str();
}

CLI::Option* add_key(CLI::App& app, std::string& file) {
    return app.add_option("--key", file, "keep this identity (default: a new one each time)")
        ->type_name("FILE");
}

CLI::Option* add_http(CLI::App& app, std::string& address) {
    return app
        .add_option(
            "--http", address, "show the run to browsers at this port; HOST:PORT for others, too"
        )
        ->type_name("[HOST:]PORT");
}

CLI::Option* add_qr(CLI::App& app, bool& qr) {
    return app.add_flag("--qr", qr, "print what others have to type as a QR code, too");
}

CLI::Option* add_forget(CLI::App& app, bool& forget) {
    return app.add_flag(
        "--forget", forget, "another owner than before may answer at the address of --join"
    );
}

void split_join(std::string& join, ExpectedOwner& owner, std::uint16_t port) {
    const Result<JoinTarget> target = parse_join(join, port);
    if (!target) {
        throw CLI::ValidationError("--join", target.error().detail);
    }
    join = target->addresses;
    owner.name = target->name;
}

CLI::Option* add_swarm_key(CLI::App& app, const std::string& help, std::string& file) {
    return app.add_option("--swarm-key", file, help)->type_name("FILE");
}

CLI::Option* add_device(CLI::App& app, std::string& device) {
    return app.add_option("--device", device, "auto, cpu or cuda:N")->capture_default_str();
}

CLI::Option* add_threads(CLI::App& app, const std::string& help, ThreadsFlag& threads) {
    const auto take = [&threads](const std::string& text) {
        std::uint32_t number = 0;
        const char* const end = text.data() + text.size();
        const auto [rest, error] = std::from_chars(text.data(), end, number);
        const bool given = error == std::errc{} && rest == end && number >= 1;
        if (text != "auto" && (!given || number > kThreadsMax)) {
            throw CLI::ValidationError(
                "--threads",
                "wants auto, or a number from 1 to " + std::to_string(kThreadsMax) + ", not " + text
            );
        }
        threads = given ? number : kAutoThreads;
    };
    return app.add_option_function<std::string>("--threads", take, help)->type_name("auto|N");
}

CLI::Option* add_weights(CLI::App& app, std::string& weights) {
    return app
        .add_option(
            "--weights", weights, "keep weights as they are stored, or as fp32, bf16 or int8"
        )
        ->check(CLI::IsMember({"as-is", "fp32", "bf16", "int8"}))
        ->capture_default_str();
}

CLI::Option* add_adapter(CLI::App& app, std::string& folder) {
    return app
        .add_option(
            "--adapter",
            folder,
            "adapters for the model, as swarm model export --adapter or peft "
            "saves them"
        )
        ->type_name("FOLDER");
}

CLI::Option* add_guesses(CLI::App& app, std::uint32_t& guesses_max) {
    return app
        .add_option(
            "--guesses",
            guesses_max,
            "guess up to so many next tokens, so that one round trip may bring several; 0: none"
        )
        ->check(CLI::Range(0U, protocol::kGuessesMax))
        ->capture_default_str();
}

CLI::Option* add_row_codecs(CLI::App& app, std::vector<protocol::RowCodec>& codecs) {
    const auto take = [&codecs](const std::string& names) {
        const auto read = stacking::parse_row_codecs(names);
        if (!read) {
            throw CLI::ValidationError("--codec", "wants auto, " + stacking::row_codec_names());
        }
        codecs = *read;
    };
    return app
        .add_option_function<std::string>(
            "--codec",
            take,
            "codec of the rows between stages: " + stacking::row_codec_names() +
                "; auto: as each link needs it; A,B,...: link by link (default: none)"
        )
        ->type_name("NAME");
}

CLI::Option* add_digests(CLI::App& app, std::vector<std::string>& digests) {
    constexpr std::size_t kDigitsLeast = 4;
    const auto check = [](const std::string& digits) {
        const bool good = digits.size() >= kDigitsLeast &&
                          digits.find_first_not_of("0123456789abcdef") == std::string::npos;
        return good ? std::string()
                    : "wants the first digits of a digest, as `swarm serve` prints it: 1a2b3c4d";
    };
    return app
        .add_option(
            "--digest",
            digests,
            "ask only peers with these weights, of those that disagree (A,B,...)"
        )
        ->delimiter(',')
        ->check(CLI::Validator(check, ""))
        ->type_name("HEX");
}

CLI::Option* add_replay(CLI::App& app, std::string& replay) {
    return app
        .add_option(
            "--replay",
            replay,
            "how the successor of a lost peer is refilled: exact repeats every call, fast reads "
            "the text at once"
        )
        ->check(CLI::IsMember({"exact", "fast"}))
        ->capture_default_str();
}

std::function<std::string(const std::string&)> number_within(double least, double most) {
    return [least, most](const std::string& text) {
        double value = 0;
        const char* const end = text.data() + text.size();
        const auto [rest, error] = std::from_chars(text.data(), end, value);
        if (error == std::errc{} && rest == end && value >= least && value <= most) {
            return std::string();
        }
        char range[64];
        std::snprintf(range, sizeof range, "from %g to %g", least, most);
        return std::string("wants numbers ") + range + ", not " + text;
    };
}

void add_sampling_flags(CLI::App& app, SamplingFlags flags) {
    constexpr double kHottest = 100;
    constexpr double kLeastShare = 1e-6;
    CLI::Option* const temperature =
        app.add_option("--temperature", flags.temperature, "0: always the likeliest")
            ->check(number_within(0, kHottest))
            ->capture_default_str();
    app.add_option(
           "--top-p",
           flags.top_p,
           "draw from the fewest tokens that reach this probability (default: from all)"
    )
        ->check(number_within(kLeastShare, 1))
        ->needs(temperature);
    app.add_option(
           "--top-k",
           flags.top_k,
           "draw from so many tokens, the likeliest ones (default: " +
               std::to_string(protocol::kTopTokensMax) + ")"
    )
        ->check(CLI::Range(1U, protocol::kTopTokensMax))
        ->needs(temperature);
}

void add_stops(CLI::App& app, std::vector<std::string>& stops) {
    const auto is_text = [](const std::string& text) {
        return text.empty() ? std::string("wants a text that is not empty") : std::string();
    };
    app.add_option("--stop", stops, "end before this text, which is not printed; repeatable")
        ->check(is_text)
        ->allow_extra_args(false)  // else the next word, the prompt, would be a stop text, too
        ->take_all()
        ->type_name("TEXT");
}

CLI::Option* add_settings(
    CLI::App& app,
    const std::string& help,
    const std::string& name,
    std::vector<std::pair<std::string, std::string>>& settings
) {
    const std::string type = name + "=VALUE";
    const auto add = [&settings, type](const std::vector<std::string>& texts) {
        for (const std::string& text : texts) {
            const std::size_t equals = text.find('=');
            if (equals == 0 || equals == std::string::npos) {
                throw CLI::ValidationError("--set", "wants " + type + ", not " + text);
            }
            settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
        }
    };
    return app.add_option_function<std::vector<std::string>>("--set", add, help + " (repeatable)")
        ->type_name(type)
        ->allow_extra_args(false)  // else the next word, a file, would be a setting, too
        ->take_all();
}

CLI::Option* add_system(CLI::App& app, std::optional<std::string>& system) {
    return app.add_option("--system", system, "system message (default: the chat template's)")
        ->type_name("TEXT");
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
            ->check(number_within(0, 1e9))};
}

}  // namespace swarm::cli

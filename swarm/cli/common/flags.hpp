// Flags that several verbs have. A verb needs the header of CLI11 only for flags that no function
// here adds: that header costs four seconds of compiling.
// Invariant: what a flag writes to outlives the parsing.
// Errors: those of CLI11. Threading: one thread, while the command line is read.
#pragma once

#include "swarm/base/units.hpp"
#include "swarm/cli/common/join_address.hpp"
#include "swarm/cli/compute/threads.hpp"
#include "swarm/protocol/session_messages.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace swarm::cli {

/// The end of each --help.
extern const char* const kExitCodes;
/// The help of each --model that takes a model of others.
extern const char* const kModelHelp;

/// "500ms", "3s", "2m", "1h"; a number without a unit counts seconds. nullopt: the text is none of
/// them, or a time above one day.
std::optional<Duration> parse_duration(const std::string& text);

CLI::Option* add_duration(
    CLI::App& app,
    const std::string& name,
    const std::string& help,
    std::function<void(Duration)> to
);
/// Adds a flag for one or more rates of a line, such as 10Mb/s or 2.5Gb/s; they are stored in bytes
/// per second.
CLI::Option* add_rates(
    CLI::App& app,
    const std::string& name,
    const std::string& help,
    std::vector<std::uint64_t>& bytes_per_s
);
/// Adds a flag for a rate that the links of this process keep to, in bytes per second.
CLI::Option* add_limit(
    CLI::App& app, const std::string& name, const std::string& help, std::uint64_t& bytes_per_s
);
/// Adds a flag for a size such as 2GiB or 500MB.
CLI::Option* add_size(
    CLI::App& app, const std::string& name, const std::string& help, std::uint64_t& bytes
);

/// Adds --log-every of verbs that train.
CLI::Option* add_log_every(CLI::App& app, std::optional<Duration>& period);
CLI::Option* add_json(CLI::App& app, const std::string& help, std::string& file);
CLI::Option* add_listen(CLI::App& app, const std::string& help, std::string& address);
/// Adds --key, the file of the identity.
CLI::Option* add_key(CLI::App& app, std::string& file);
/// Adds --http, of verbs that show a run to browsers.
CLI::Option* add_http(CLI::App& app, std::string& address);
/// Adds --qr, of verbs that print what others have to type.
CLI::Option* add_qr(CLI::App& app, bool& qr);
/// Adds --forget, beside a --join.
CLI::Option* add_forget(CLI::App& app, bool& forget);
/// Splits what --join got into name and addresses; to be called when the verb is named.
void split_join(std::string& join, ExpectedOwner& owner, std::uint16_t port);
CLI::Option* add_swarm_key(CLI::App& app, const std::string& help, std::string& file);
/// Adds --device: auto, cpu or cuda:N.
CLI::Option* add_device(CLI::App& app, std::string& device);
/// Adds --threads: auto, or a number; see threads.hpp.
CLI::Option* add_threads(CLI::App& app, const std::string& help, ThreadsFlag& threads);
/// Returns a check for CLI::Option::check(): the text is a number from `least` to `most`.
/// CLI::Range and its like let nan pass.
std::function<std::string(const std::string&)> number_within(double least, double most);

CLI::Option* add_weights(CLI::App& app, std::string& weights);
/// Adds --adapter, a folder of peft for the model.
CLI::Option* add_adapter(CLI::App& app, std::string& folder);
CLI::Option* add_replay(CLI::App& app, std::string& replay);
/// Adds --codec, of the rows between stages, link by link.
/// --guesses; default: protocol::kGuessesMax.
CLI::Option* add_guesses(CLI::App& app, std::uint32_t& guesses_max);

CLI::Option* add_row_codecs(CLI::App& app, std::vector<protocol::RowCodec>& codecs);
/// Adds --digest, which names weights where peers disagree.
CLI::Option* add_digests(CLI::App& app, std::vector<std::string>& digests);

/// The options of a draw among the likeliest tokens (stacking/sampler.hpp).
struct SamplingFlags {
    double& temperature;
    double& top_p;
    std::uint32_t& top_k;
};

/// Adds --temperature, --top-p and --top-k.
void add_sampling_flags(CLI::App& app, SamplingFlags flags);
/// Adds --stop, which may come several times.
void add_stops(CLI::App& app, std::vector<std::string>& stops);
/// Adds --set for settings NAME=VALUE, which may come several times. `name` stands for NAME in the
/// help.
CLI::Option* add_settings(
    CLI::App& app,
    const std::string& help,
    const std::string& name,
    std::vector<std::pair<std::string, std::string>>& settings
);
/// Adds --system, the system message of a chat.
CLI::Option* add_system(CLI::App& app, std::optional<std::string>& system);
/// Adds --path and --exit, which are about the stages of a model.
std::array<CLI::Option*, 2> add_path(
    CLI::App& app, std::vector<std::uint32_t>& path, double& exit_threshold
);

}  // namespace swarm::cli

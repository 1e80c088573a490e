// Flags that several verbs have.
// Errors: those of CLI11. Threading: one thread, while the command line is read.
#pragma once

#include "swarm/base/units.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace swarm::cli {

/// The end of each --help.
extern const char* const kExitCodes;
/// Of --model.
extern const char* const kModelHelp;

CLI::Option* add_duration(
    CLI::App& app,
    const std::string& name,
    const std::string& help,
    std::function<void(Duration)> to
);
/// One or more rates of a line, such as 10Mb/s or 2.5Gb/s, in bytes per second.
CLI::Option* add_rates(
    CLI::App& app,
    const std::string& name,
    const std::string& help,
    std::vector<std::uint64_t>& bytes_per_s
);
CLI::Option* add_weights(CLI::App& app, std::string& weights);
CLI::Option* add_replay(CLI::App& app, std::string& replay);
/// --path and --exit, of a model's stages.
std::array<CLI::Option*, 2> add_path(
    CLI::App& app, std::vector<std::uint32_t>& path, double& exit_threshold
);

}  // namespace swarm::cli

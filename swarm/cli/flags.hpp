// Flags that several verbs have.
// Errors: those of CLI11. Threading: one thread, while the command line is read.
#pragma once

#include "swarm/base/units.hpp"

#include <functional>
#include <string>

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
CLI::Option* add_weights(CLI::App& app, std::string& weights);
CLI::Option* add_replay(CLI::App& app, std::string& replay);

}  // namespace swarm::cli

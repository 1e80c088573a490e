// The command line of the program: the verb that it names, with its options.
// Threading: one thread. Errors: an Exit with code 2 and one line. --help and --version are an Exit
// with code 0.
#pragma once

#include "swarm/cli/common/verb.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace swarm::cli {

/// A text to print instead of running a verb, and the exit code.
struct Exit {
    int code = 0;
    std::string text;
};

/// Reads the words that follow the name of the program.
std::variant<ChosenVerb, Exit> read_command_line(const std::vector<std::string>& words);

/// Returns the line that the program would print; nullopt: it takes the words. Runs no verb.
std::optional<std::string> usage_error(const std::vector<std::string>& words);

}  // namespace swarm::cli

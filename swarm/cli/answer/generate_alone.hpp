// `swarm generate --model` and `--stack` without --join: a whole model, or several as one, answers
// in this process.
// Threading: the main thread, which computes. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/cli/answer/generate_options.hpp"
#include "swarm/cli/terminal/console.hpp"

#include <cstdint>
#include <vector>

namespace swarm::cli {

/// Writes the text to stdout as it comes, and the speeds to stderr. Returns the exit code.
int generate_alone(const GenerateOptions& options, Console& console);

/// Returns the same tokens and prints nothing: an answer of peers must equal them.
Result<std::vector<std::uint32_t>> ids_alone(const GenerateOptions& options, Console& console);

}  // namespace swarm::cli

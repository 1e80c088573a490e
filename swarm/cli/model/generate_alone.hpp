// `swarm generate --model`, or `--stack`: a model, or several as one, whole, in this process.
// Threading: the main thread, which computes. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/cli/console.hpp"
#include "swarm/cli/options.hpp"

#include <cstdint>
#include <vector>

namespace swarm::cli {

/// Text to stdout as it comes, speeds to stderr.
int generate_alone(const GenerateOptions& options, Console& console);

/// The same tokens, silently: what peers must equal.
Result<std::vector<std::uint32_t>> ids_alone(const GenerateOptions& options, Console& console);

}  // namespace swarm::cli

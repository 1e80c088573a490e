// The command line of `swarm generate`: of a run's peers, of a model's, or in this process.
// Invariant: `generate` outlives the parsing. Errors: those of CLI11.
#pragma once

#include "swarm/cli/options.hpp"

namespace CLI {
class App;
}

namespace swarm::cli {

void add_generate(CLI::App& root, GenerateOptions& generate);

}  // namespace swarm::cli

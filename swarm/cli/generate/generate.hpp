// `swarm generate`: continues a text, or answers one, with the peers of a run, with those that
// serve a model or a stack, or in this process. The text goes to stdout as it comes.
// Threading: the main thread. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/cli/answer/generate_options.hpp"
#include "swarm/cli/common/verb.hpp"

namespace swarm::cli {

void add_generate(CLI::App& program, const OnChosen& on_chosen);

int generate(const GenerateOptions& options);

}  // namespace swarm::cli

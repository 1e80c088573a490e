// `swarm chat`: a conversation in the terminal with a model or a stack, in this process or by the
// peers that serve it. Lines that begin with a slash are commands; piped input works, too.
// Threading: the main thread. Errors: an exit code, and one line on stderr. A question that fails
// is taken back, and the conversation goes on; from a pipe it ends the program.
#pragma once

#include "swarm/cli/answer/generate_options.hpp"
#include "swarm/cli/common/verb.hpp"

namespace swarm::cli {

struct ChatOptions {
    GenerateOptions generate{};
};

void add_chat(CLI::App& program, const OnChosen& on_chosen);

int chat(const ChatOptions& options);

}  // namespace swarm::cli

// `swarm stack search`: the members of an ensemble, or the order of a chain, that predict held-out
// texts best.
// Threading: the main thread, whose pool helps. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/cli/common/verb.hpp"
#include "swarm/cli/compute/threads.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::cli {

struct StackSearchOptions {
    std::string file;
    std::vector<std::string> texts;
    std::string out;              // file of the best stack; empty: it is only printed
    std::uint32_t budget = 0;     // tries; 0: 1,024 subsets, or 24 orders
    std::uint32_t tokens = 4096;  // maximum per text
    std::string weights = "as-is";
    ThreadsFlag threads;  // none: auto
};

/// Adds the verb below `swarm stack`.
void add_search(CLI::App& stack, const OnChosen& on_chosen);

int search_stack(const StackSearchOptions& options);

}  // namespace swarm::cli

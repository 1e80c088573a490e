// `swarm stack mix` and `join`: several models become one, as its experts (Branch-Train-MiX) or as
// its layers one after the other (model stacking), which can then be trained as a whole.
// Threading: the main thread. Errors: an exit code, and one line on stderr. The folder that it
// writes appears whole or not at all.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/common/verb.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::cli {

class Console;

struct StackMixOptions {
    std::vector<std::string> models;  // paths or names
    std::string folder;
    std::uint32_t top = 2;     // experts per token
    std::uint32_t copies = 1;  // experts that each model becomes
    std::uint64_t seed = 1;    // routers are drawn with it
};

struct StackJoinOptions {
    std::string file;  // a stack of mode chain
    std::string folder;
};

// Add the verbs below `swarm stack`.
void add_mix(CLI::App& stack, const OnChosen& on_chosen);
void add_join(CLI::App& stack, const OnChosen& on_chosen);

// Do what the verbs do, and print the same.
Result<> write_mixture(const StackMixOptions& options, Console& console);
Result<> write_joined(const StackJoinOptions& options, Console& console);

int mix_models(const StackMixOptions& options);
int join_chain(const StackJoinOptions& options);

}  // namespace swarm::cli

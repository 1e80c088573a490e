// `swarm stack states`, `targets` and `align`: brings a chain's first member closer to what its
// next member wants to read, while each member stays with its host. The hosts exchange two folders:
// the first member's states about some texts, and targets for them.
// Threading: the main thread; LibTorch has threads of its own, and the bits depend on their number.
// Errors: an exit code, and one line on stderr. `states` and `targets` write shard by shard and the
// manifest last: the same command goes on where it was ended. The folder of `align` appears whole.
#pragma once

#include "swarm/cli/common/verb.hpp"
#include "swarm/cli/compute/threads.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::cli {

struct StackStatesOptions {
    std::string model;  // first member: a path or a name
    std::string folder;
    std::vector<std::string> texts;   // files, or folders of files
    std::uint32_t tokens = 1U << 17;  // maximum per text
    std::uint32_t window = 128;       // tokens of a sequence
    std::uint32_t batch = 8;          // sequences that are computed at once
    ThreadsFlag threads;              // none: 1
};

struct StackTargetsOptions {
    std::string model;   // next member: a path or a name
    std::string states;  // folder of `states`
    std::string folder;
    std::string labels = "drawn";  // or text
    double step = 0.05;
    std::uint32_t rounds = 1;
    std::uint64_t seed = 1;
    ThreadsFlag threads;  // none: 1
};

struct StackAlignOptions {
    std::string model;    // first member: a path or a name
    std::string targets;  // folder of `targets`
    std::string folder;
    std::uint32_t steps = 120;
    double learning_rate = 3e-4;
    double weight = 1;
    std::uint64_t seed = 1;
    ThreadsFlag threads;  // none: 1
};

// Add the verbs below `swarm stack`.
void add_states(CLI::App& stack, const OnChosen& on_chosen);
void add_targets(CLI::App& stack, const OnChosen& on_chosen);
void add_align(CLI::App& stack, const OnChosen& on_chosen);

int write_states(const StackStatesOptions& options);
int write_targets(const StackTargetsOptions& options);
int align_member(const StackAlignOptions& options);

}  // namespace swarm::cli

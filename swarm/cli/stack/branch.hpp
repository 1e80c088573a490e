// `swarm stack branch` and `grow`: run files of members that begin with one model and are trained
// apart (Branch-Train-Merge, Li et al. 2022, arXiv 2208.03306, sections 3 and 4). Fresh members
// begin with a model of their own, which lies beside the run file: the ends of the seed around
// layers that are drawn by the member's run.seed.
// Threading: the main thread. Errors: an exit code, and one line on stderr. The folder that they
// write appears whole or not at all.
#pragma once

#include "swarm/cli/common/verb.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace swarm::cli {

/// Texts and settings of the members' trainings.
struct BranchOptions {
    std::vector<std::string> sources;  // text files, or folders of `swarm data build`
    std::string folder;
    std::vector<std::string> freeze{};  // groups of tensors that stay those of the seed
    std::vector<std::pair<std::string, std::string>> settings{};  // keys of a run file
    /// Member i has seed + i. None: 1, or, where a stack gets fresh members, one more than it has
    /// members, so that they draw other layers than those that were branched with its first seeds.
    std::optional<std::uint64_t> seed{};
    bool deal = false;   // the paragraphs of all sources, at random
    bool fresh = false;  // layers drawn anew between the seed's frozen embedding and head
};

struct StackBranchOptions {
    std::string model;  // with which each member begins
    BranchOptions branch;
};

struct StackGrowOptions {
    std::string file;  // file of the stack whose average, or whose ends, new members begin with
    BranchOptions branch;
};

// Add the verbs below `swarm stack`.
void add_branch(CLI::App& stack, const OnChosen& on_chosen);
void add_grow(CLI::App& stack, const OnChosen& on_chosen);

int branch_members(const StackBranchOptions& options);
int grow_stack(const StackGrowOptions& options);

}  // namespace swarm::cli

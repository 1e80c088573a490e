// The alignment of a recipe of `swarm stack judge`: the work of `swarm stack states`, `targets` and
// `align` for the first two members of a chain, whose states lie beside the result meanwhile.
// Invariant: an interrupted alignment goes on with the states and targets that are there; the
// training itself begins anew, and its folder appears whole.
// Threading: the main thread. Errors: the exit code of the verb that has ended badly, after its own
// line. Disk: twice kAlignedTokensMax rows of the member's width in fp32, at most, until the end.
#pragma once

#include "swarm/cli/compute/threads.hpp"
#include "swarm/run/config.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace swarm::cli {

/// Maximum tokens of all texts whose states are written; a longer training meets them again.
inline constexpr std::uint64_t kAlignedTokensMax = 1U << 17;

/// Paths are absolute, because the folders of states tell by them whose they are.
struct JudgedAlignment {
    std::filesystem::path first;
    std::filesystem::path second;
    std::filesystem::path folder;  // the first member then
    std::uint64_t tokens = 0;      // that the training reads
    std::uint64_t seed = 1;
    ThreadsFlag threads;
};

/// Whether the work is done.
bool is_aligned(const JudgedAlignment& wanted);

/// `config`: that of the first member's run, whose batches and context the training has.
int align_judged(
    const JudgedAlignment& wanted,
    const run::RunConfig& config,
    const std::vector<std::string>& texts
);

}  // namespace swarm::cli

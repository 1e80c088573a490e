// `swarm stack average --by fisher`: the average of models by their Fisher information about
// held-out texts, in windows of at most kFisherWindow tokens that do not overlap.
// Invariant: all members see the same windows. Threading: the main thread; LibTorch has threads of
// its own, and the bits of the result depend on their number.
// Errors: Unsupported (a model that is not trained here; no LibTorch), Mismatch (the information of
// all members does not fit the memory), NotFinite, Usage, and those of texts and models; Reject:
// one line, which names the member where it is about one.
// Memory: 4 bytes per value and member until the average is written; while a member is measured 16
// bytes per value more, and its activations. Cost: a forward and a backward per window and member.
#pragma once

#include "stacking/models/averages/fisher_average.hpp"
#include "swarm/base/result.hpp"
#include "swarm/cli/stack/average.hpp"
#include "swarm/cli/stack/average_members.hpp"
#include "swarm/run/config.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace swarm::cli {

class Console;

/// Positions of a window, or the context of the models where that is less. It is shorter than the
/// windows of losses, because the mean over many windows is a better estimate than that over few.
inline constexpr std::uint32_t kFisherWindow = 256;

/// Returns the run of one stage whose microbatches are the windows. `name` is that of the member.
Result<run::RunConfig> fisher_run(
    const std::string& name, const stacking::models::Architecture& architecture
);

/// Refuses an average that needs more memory than `machine_bytes` beside activations. `config`: a
/// member's fisher_run().
Result<> check_fisher_memory(
    std::size_t members, const run::RunConfig& config, std::uint64_t machine_bytes
);

struct AverageByFisher {
    stacking::models::FisherAverage average;
    std::vector<double> losses;  // one per member, in nats per token of the windows
};

Result<AverageByFisher> average_by_fisher(
    const AverageMembers& members, const HeldOutOptions& options, Console& console
);

}  // namespace swarm::cli

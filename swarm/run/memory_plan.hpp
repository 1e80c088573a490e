// MemoryPlan shares out the memory that a peer lends to its stage (`swarm serve --memory`): first
// to training, then to frozen snapshots, then to kept graphs (stages/worker/kept_graphs).
// Invariant: a plan that passes check() has room for one snapshot, so every member can be a donor.
// Two things may exceed the bound for a moment: the graph that is being worked on, and during a
// download 4 bytes per parameter for each commit that is followed (stages/server/joining).
// Graphs on a GPU count like graphs in host memory.
// Threading: a value. Units: bytes.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"
#include "swarm/run/partition.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace swarm::run {

class MemoryPlan {
 public:
    /// Weights and the two moments of AdamW (stages/worker/stage_state). A snapshot takes the same.
    static constexpr std::uint64_t kStateBytesPerParameter = 12;
    /// Mode sparse needs these in addition: the shared weights, the buffer, and in an exchange a
    /// proposal and its sums (stages/worker/sparse_replica).
    static constexpr std::uint64_t kSparseBytesPerParameter = 16;

    /// A plan without a bound.
    MemoryPlan() = default;
    /// The plan of a member of the stage. `lent_bytes` 0: no bound.
    MemoryPlan(std::uint64_t lent_bytes, const RunConfig& config, const StageLayout& layout);
    MemoryPlan(
        std::uint64_t lent_bytes,
        StageIndex stage,
        std::uint64_t parameters,
        std::uint32_t microbatches,
        std::uint64_t more_bytes = 0  // on top of the needs of an untied stage of mode exact
    );

    /// Bytes of training and of `snapshots` snapshots.
    [[nodiscard]] std::uint64_t needed_bytes(std::size_t snapshots) const;
    /// Mismatch (Reject) when the stage does not fit: lend more, or run with more stages.
    [[nodiscard]] Result<> check() const;
    [[nodiscard]] bool has_room_for_snapshots(std::size_t count) const;
    /// Bytes that are left for graphs beside `snapshots` snapshots; nullopt: no bound.
    [[nodiscard]] std::optional<std::uint64_t> graph_room_bytes(std::size_t snapshots) const;

 private:
    std::optional<std::uint64_t> lent_bytes_;
    std::uint64_t training_bytes_ = 0;
    std::uint64_t snapshot_bytes_ = 0;
    StageIndex stage_;
    const char* other_remedy_ = "train with more stages";  // than lending more
};

/// The remedy by which stages of the run become smaller.
const char* smaller_stages(const RunConfig& config);

/// Returns the sentence that refuses `what`, which needs more memory than a machine has.
std::string too_large_for_machine(
    const std::string& what, std::uint64_t needed_bytes, std::uint64_t machine_bytes
);

/// Bytes of the states of all stages, which the coordinator holds while it makes a checkpoint.
std::uint64_t all_state_bytes(const RunConfig& config);

/// Bytes of training all stages in one process; in mode sparse so many for each replica.
std::uint64_t single_process_bytes(const RunConfig& config);

/// Bytes of the largest stage's state.
std::uint64_t largest_state_bytes(const RunConfig& config);

}  // namespace swarm::run

// How a stage shares out the memory that its peer lends (`swarm serve --memory`): first what
// training needs in any case, then frozen snapshots, then kept graphs (stages/kept_graphs).
// Invariant: a plan that passes check() has room for one snapshot, so every member can be a donor.
// Beyond the bound, for a moment: the graph being worked on, and while a state is downloaded
// 4 bytes per parameter for each commit that is followed (stages/joining).
// Graphs on a GPU count like those in host memory.
// Threading: a value. Units: bytes.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"
#include "swarm/run/partition.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace swarm::run {

class MemoryPlan {
 public:
    /// Weights and AdamW's two moments (stages/stage_state): also what a snapshot takes.
    static constexpr std::uint64_t kStateBytesPerParameter = 12;
    /// Beside it in mode sparse: the shared weights, the buffer, and in an exchange a proposal and
    /// its sums (stages/sparse_replica).
    static constexpr std::uint64_t kSparseBytesPerParameter = 16;

    /// Nothing is bounded.
    MemoryPlan() = default;
    /// Of a member of the stage. `lent_bytes` 0: nothing is bounded.
    MemoryPlan(std::uint64_t lent_bytes, const RunConfig& config, const StageLayout& layout);
    MemoryPlan(
        std::uint64_t lent_bytes,
        StageIndex stage,
        std::uint64_t parameters,
        std::uint32_t microbatches,
        std::uint64_t more_bytes = 0  // beside what an untied stage of mode exact takes
    );

    /// What training and so many snapshots take.
    [[nodiscard]] std::uint64_t needed_bytes(std::size_t snapshots) const;
    /// Mismatch (Reject) when the stage does not fit: lend more, or run with more stages.
    [[nodiscard]] Result<> check() const;
    [[nodiscard]] bool has_room_for_snapshots(std::size_t count) const;
    /// What is left for graphs beside so many snapshots; nullopt: no bound.
    [[nodiscard]] std::optional<std::uint64_t> graph_room_bytes(std::size_t snapshots) const;

 private:
    std::optional<std::uint64_t> lent_bytes_;
    std::uint64_t training_bytes_ = 0;
    std::uint64_t snapshot_bytes_ = 0;
    StageIndex stage_;
};

}  // namespace swarm::run

#include "swarm/run/memory_plan.hpp"

#include <algorithm>
#include <string>

namespace swarm::run {
namespace {

/// Bytes per parameter beside the state: sums 8, own slice 8, result 4, two pending gradients 8
/// (stages/worker/stage_worker.hpp).
constexpr std::uint64_t kBytesPerParameter = MemoryPlan::kStateBytesPerParameter + 28;
/// Bytes per parameter that is not trained: its weight, which snapshots share.
constexpr std::uint64_t kBytesPerFrozen = 4;
/// Bytes per microbatch, for the counters that follow the parameters: sums 8, own slice 8, result
/// 4.
constexpr std::uint64_t kBytesPerMicrobatch = 20;
/// Bytes per element of a tied matrix: our sums, which are kept, and those of the other stage
/// (stages/server/tied_sums.hpp).
constexpr std::uint64_t kBytesPerTied = 16;

/// Rounds up, so that the named amount is enough.
std::string in_mebibytes(std::uint64_t bytes) {
    return std::to_string((bytes + (1U << 20) - 1) >> 20) + " MiB";
}

}  // namespace

MemoryPlan::MemoryPlan(std::uint64_t lent_bytes, const RunConfig& config, const StageLayout& layout)
    : MemoryPlan(
          lent_bytes,
          layout.stage,
          layout.elements(),
          config.microbatches,
          kBytesPerFrozen * layout.frozen_elements() +
              (tied_stage(config, layout.stage) ? kBytesPerTied * tied_elements(config) : 0) +
              (config.mode == SyncMode::Sparse
                   ? MemoryPlan::kSparseBytesPerParameter * layout.elements()
                   : 0)
      ) {
    other_remedy_ = smaller_stages(config);
}

MemoryPlan::MemoryPlan(
    std::uint64_t lent_bytes,
    StageIndex stage,
    std::uint64_t parameters,
    std::uint32_t microbatches,
    std::uint64_t more_bytes
)
    : training_bytes_(
          kBytesPerParameter * parameters + kBytesPerMicrobatch * microbatches + more_bytes
      ),
      snapshot_bytes_(kStateBytesPerParameter * parameters),
      stage_(stage) {
    if (lent_bytes > 0) {
        lent_bytes_ = lent_bytes;
    }
}

std::uint64_t MemoryPlan::needed_bytes(std::size_t snapshots) const {
    return training_bytes_ + snapshots * snapshot_bytes_;
}

Result<> MemoryPlan::check() const {
    if (has_room_for_snapshots(1)) {
        return {};
    }
    return Error{
        ErrorCode::Mismatch,
        Reaction::Reject,
        "stage " + std::to_string(stage_.value) + " needs " + in_mebibytes(needed_bytes(1)) +
            " beside its activations, and this peer lends " + std::to_string(*lent_bytes_ >> 20) +
            " MiB; raise --memory, or " + other_remedy_};
}

const char* smaller_stages(const RunConfig& config) {
    return has_experts(config.model.kind) && config.stages >= config.model.layers
               ? "deal the experts of a layer to more stages (run.expert_stages)"
               : "train with more stages";
}

bool MemoryPlan::has_room_for_snapshots(std::size_t count) const {
    return !lent_bytes_ || needed_bytes(count) <= *lent_bytes_;
}

std::optional<std::uint64_t> MemoryPlan::graph_room_bytes(std::size_t snapshots) const {
    if (!lent_bytes_) {
        return std::nullopt;
    }
    const std::uint64_t needed = needed_bytes(snapshots);
    return needed < *lent_bytes_ ? *lent_bytes_ - needed : 0;
}

std::string too_large_for_machine(
    const std::string& what, std::uint64_t needed_bytes, std::uint64_t machine_bytes
) {
    return what + " needs " + in_mebibytes(needed_bytes) + ", and this machine has " +
           std::to_string(machine_bytes >> 20) +
           " MiB for this process; take a smaller model, or "
           "train it with more stages on more machines";
}

std::uint64_t all_state_bytes(const RunConfig& config) {
    std::uint64_t bytes = 0;
    for (const StageLayout& stage : partition(config)) {
        bytes += stage.state_bytes();
    }
    return bytes;
}

std::uint64_t single_process_bytes(const RunConfig& config) {
    std::uint64_t bytes = 0;
    for (const StageLayout& stage : partition(config)) {
        bytes += MemoryPlan(0, config, stage).needed_bytes(0);
    }
    return bytes * (config.mode == SyncMode::Sparse ? replicas_alone(config) : 1);
}

std::uint64_t largest_state_bytes(const RunConfig& config) {
    std::uint64_t most = 0;
    for (const StageLayout& stage : partition(config)) {
        most = std::max(most, stage.state_bytes());
    }
    return most;
}

}  // namespace swarm::run

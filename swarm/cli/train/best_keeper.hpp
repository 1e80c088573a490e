// Finds the checkpoint with the least held-out loss among those that are written, and marks it in
// the folder of the run, so that it outlives run.checkpoint_keep and the process.
// An evaluation and the checkpoint of its step come in either order.
// Threading: one thread at a time. Errors: StorageFailed. Memory: kRemembered of each.
#pragma once

#include "stages/files/best_checkpoint.hpp"
#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace swarm::cli {

class BestKeeper {
 public:
    explicit BestKeeper(std::filesystem::path folder)
        : folder_(std::move(folder)), best_(stages::read_best_checkpoint(folder_)) {}

    [[nodiscard]] std::optional<double> best_loss() const {
        return best_ ? std::optional(best_->loss) : std::nullopt;
    }

    /// The weights of this step have this held-out loss.
    Result<> evaluated(std::uint64_t step, double loss);
    /// The checkpoint of this step is on disk.
    Result<> written(std::uint64_t step, const std::string& name);

 private:
    /// A checkpoint takes less time to write than so many evaluations.
    static constexpr std::size_t kRemembered = 64;

    Result<> mark(const std::string& name, double loss);

    std::filesystem::path folder_;
    std::optional<stages::BestCheckpoint> best_;
    std::map<std::uint64_t, double> losses_;      // by step, of the latest evaluations
    std::map<std::uint64_t, std::string> names_;  // by step, of the latest checkpoints
};

}  // namespace swarm::cli

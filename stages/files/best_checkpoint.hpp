// The checkpoint with the least held-out loss of a run, which no pruning removes: one line in the
// file best-checkpoint of the run's folder, such as "checkpoint-0-50 3.2140625".
// Threading: one thread. Errors: StorageFailed; a file that is not understood counts as none.
#pragma once

#include "swarm/base/result.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace stages {

inline constexpr const char* kBestCheckpointFile = "best-checkpoint";

struct BestCheckpoint {
    std::string name;  // folder of the checkpoint, without that of the run
    double loss = 0;   // held-out, nats per token

    friend bool operator==(const BestCheckpoint&, const BestCheckpoint&) = default;
};

/// nullopt: no evaluation has marked one.
std::optional<BestCheckpoint> read_best_checkpoint(const std::filesystem::path& run);

/// Writes the file durably.
swarm::Result<> write_best_checkpoint(const std::filesystem::path& run, const BestCheckpoint& best);

}  // namespace stages

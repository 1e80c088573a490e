// The seam between the coordinator, which decides when a checkpoint is written, and
// stages/files/checkpoint, which turns the states of all stages into files.
// Threading: single strand. Errors: those of the implementation.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"
#include "swarm/node/payload.hpp"

#include <span>
#include <string>
#include <vector>

namespace swarm::run {

/// The state of every stage at one version, as chunks of 1 MiB (stages/worker/stage_state).
struct RunState {
    ParameterVersion version;
    std::vector<std::vector<node::Payload>> chunks;  // by stage
};

struct CheckpointFile {
    std::string name;  // relative to the run directory
    node::Payload bytes;
};

struct CheckpointFiles {
    std::string name;  // name of the checkpoint, without spaces
    std::vector<CheckpointFile>
        files;              // in the order in which they are written; the manifest is last
    Digest weights_sha256;  // digest over all weights in global order
};

class CheckpointFormat {
 public:
    CheckpointFormat() = default;
    CheckpointFormat(const CheckpointFormat&) = delete;
    CheckpointFormat& operator=(const CheckpointFormat&) = delete;
    virtual ~CheckpointFormat() = default;

    /// Frees the chunks of each stage as soon as the files of that stage are made.
    [[nodiscard]] virtual Result<CheckpointFiles> make_files(RunState state) const = 0;
};

}  // namespace swarm::run

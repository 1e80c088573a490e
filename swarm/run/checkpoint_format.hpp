// How the states of all stages become files, and back: implemented in stages/checkpoint, which
// knows tensors; the coordinator only knows when.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"
#include "swarm/node/payload.hpp"

#include <span>
#include <string>
#include <vector>

namespace swarm::run {

/// The state of every stage at one version, as chunks of 1 MiB (stages/stage_state).
struct RunState {
    ParameterVersion version;
    std::vector<std::vector<node::Payload>> chunks;  // by stage
};

struct CheckpointFile {
    std::string name;  // relative to the run directory
    node::Payload bytes;
};

struct CheckpointFiles {
    std::string name;                   // of the checkpoint, without spaces
    std::vector<CheckpointFile> files;  // to be written in this order: the manifest comes last
    Digest weights_sha256;              // over all weights in global order
};

class CheckpointFormat {
 public:
    CheckpointFormat() = default;
    CheckpointFormat(const CheckpointFormat&) = delete;
    CheckpointFormat& operator=(const CheckpointFormat&) = delete;
    virtual ~CheckpointFormat() = default;

    /// Lets go of the chunks of each stage as soon as its files are made.
    [[nodiscard]] virtual Result<CheckpointFiles> make_files(RunState state) const = 0;
};

}  // namespace swarm::run

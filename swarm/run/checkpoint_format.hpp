// The seam between the coordinator, which decides when a checkpoint is written, and
// stages/files/checkpoint, which turns the states of all stages into files.
// Threading: single strand, but for CheckpointFile::content. Errors: those of the implementation.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"
#include "swarm/node/payload.hpp"

#include <functional>
#include <string>
#include <vector>

namespace swarm::run {

/// The state of every stage at one version, as chunks of 1 MiB (stages/worker/stage_state).
struct RunState {
    ParameterVersion version;
    std::vector<std::vector<node::Payload>> chunks;  // by stage
};

/// The content of each file is made when it is about to be written, because hashing a large state
/// takes seconds: `content` is called once per file, in the order of the files, by one thread at a
/// time.
struct CheckpointFile {
    std::string name;  // relative to the run directory
    std::function<node::Payload()> content;
};

struct CheckpointFiles {
    std::string name;                   // name of the checkpoint, without spaces
    std::vector<CheckpointFile> files;  // in the order of writing; the manifest is last
    /// Returns the digest over all weights in global order. The contents must have been made.
    std::function<Digest()> weights_sha256;
};

class CheckpointFormat {
 public:
    CheckpointFormat() = default;
    CheckpointFormat(const CheckpointFormat&) = delete;
    CheckpointFormat& operator=(const CheckpointFormat&) = delete;
    virtual ~CheckpointFormat() = default;

    /// Checks the state; its files are made later. Then the chunks of each stage are freed as soon
    /// as its files are made.
    [[nodiscard]] virtual Result<CheckpointFiles> make_files(RunState state) const = 0;
};

}  // namespace swarm::run

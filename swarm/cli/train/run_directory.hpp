// The folder of a run: run.toml (its configuration), tokenizer.model unless tokens are bytes, the
// commit log, the coordinator's key, and the checkpoints. A run is begun in a folder once; after
// that only --resume goes on with it, with its first tokenizer.
// Invariant: a process writes to a run's folder, and reads what it goes on from, only while it has
// the folder's lock, which is that of `store`.
// Errors: Usage, NotFound, Malformed, Mismatch (Reject): exit code 3; StorageFailed (Fatal).
#pragma once

#include "stages/files/checkpoint.hpp"
#include "stages/worker/stage_state.hpp"
#include "swarm/base/result.hpp"
#include "swarm/cli/train/train.hpp"
#include "swarm/net/file_store.hpp"
#include "swarm/run/checkpoint_format.hpp"
#include "swarm/run/config.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

struct RunDirectory {
    std::filesystem::path path;
    run::RunConfig config;
    std::string tokenizer;  // bytes of tokenizer.model; empty: none, or not trained yet
    std::vector<stages::StageState> resumed;                  // by stage; empty: from the beginning
    std::vector<std::vector<stages::ReplicaState>> replicas;  // those of `resumed`, in mode sparse
    std::vector<std::string> notices;     // checkpoints that were passed over, and why
    std::optional<net::FileStore> store;  // the log; none: a new run that is not yet written
};

/// With --resume locks the folder and reads run.toml, the tokenizer and the newest whole
/// checkpoint. Without it the folder must hold no run.
Result<RunDirectory> open_run_directory(const TrainOptions& options);

/// Makes and locks the folder of a new run. Writes tokenizer.model and run.toml.
Result<> write_run_files(RunDirectory& directory);

/// Returns the state as the coordinator takes it; nullopt: there is no checkpoint.
std::optional<run::RunState> as_run_state(const std::vector<stages::StageState>& stages);

}  // namespace swarm::cli

// The folder of a run: run.toml (its configuration, which a person may edit between two processes),
// last-run.toml (the one that the last process went on with), the tokenizer unless tokens are
// bytes, the commit log, the coordinator's key, and the checkpoints. A run is begun in a folder
// once; after that only --resume goes on with it, with its first tokenizer.
// Invariants: a process writes to a run's folder, and reads what it goes on from, only while it has
// the folder's lock, which is that of `store`. The configuration is written when all is settled.
// Errors: Usage, NotFound, Malformed, Mismatch (Reject): exit code 3; StorageFailed (Fatal).
#pragma once

#include "stages/files/checkpoint.hpp"
#include "stages/worker/stage_state.hpp"
#include "swarm/base/result.hpp"
#include "swarm/cli/setup/training_text.hpp"
#include "swarm/cli/train/patience_end.hpp"
#include "swarm/cli/train/run_changes.hpp"
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
    std::string tokenizer;               // bytes of its file; empty: none, or not trained yet
    std::optional<run::RunConfig> last;  // with --resume: of last-run.toml
    RunProgress progress;
    std::vector<stages::StageState> resumed;                  // by stage; empty: from the beginning
    std::vector<std::vector<stages::ReplicaState>> replicas;  // those of `resumed`, in mode sparse
    bool begins = false;  // `resumed` is the state of version 0, which is not written yet
    std::optional<PatienceEnd> ended;     // where eval.patience had ended the run at this step
    std::vector<std::string> notices;     // checkpoints that were passed over, and why
    std::optional<net::FileStore> store;  // the log; none: a new run that is not yet written

    /// eval.patience has ended the run, and its value is still the same.
    [[nodiscard]] bool is_over() const { return ended && ended->patience == config.eval.patience; }
};

/// With --resume locks the folder and reads run.toml, the tokenizer, the log and the newest whole
/// checkpoint. Without it the folder must hold no run.
Result<RunDirectory> open_run_directory(const TrainOptions& options);

/// Reads the model that the run begins with, where it has one and no later state is known.
Result<> load_first_states(RunDirectory& directory);

/// Writes these weights as the checkpoint of step 0, from which joiners, --resume and a rollback
/// take them. Cost: 4 bytes per parameter on disk.
Result<> write_first_checkpoint(RunDirectory& directory);

/// Loads the text of the run. Its digest, and its path from the run's folder, are in the
/// configuration then. Adds a notice where the file is another one than might be meant.
Result<TrainingText> load_run_text(RunDirectory& directory, const TrainOptions& options);

/// Compares the settings with those of the last process of the run. Returns a line for each new
/// value; what is refused is the error. Without --resume there is nothing to compare.
Result<std::vector<std::string>> settle_changes(
    const RunDirectory& directory, const TrainOptions& options
);

/// Makes and locks the folder of a new run. Writes tokenizer.model, run.toml and last-run.toml.
Result<> write_run_files(RunDirectory& directory);

/// Returns the state as the coordinator takes it; nullopt: there is no checkpoint.
std::optional<run::RunState> as_run_state(std::vector<stages::StageState> stages);

}  // namespace swarm::cli

// A checkpoint: all weights and AdamW moments of one version, as a folder checkpoint-<gen>-<step>.
//   manifest.json                 version, run file, name, size and SHA-256 of each other file
//   layers.17.safetensors         weights, by name: "layers.17.attn.wo"
//   layers.17.adam.safetensors    moments: "layers.17.attn.wo.exp_avg" and "….exp_avg_sq";
//                                 none at step 0, the weights that a run begins with: all are 0
//   tokenizer.model               only of a run whose tokens are not bytes; or tokenizer.json
//   layers.17.replica-0.safetensors   mode sparse: moments of a replica, "layers.17.attn.wo.error"
// Each layer, "embed" and "head" has a pair of files, so any number of stages can load them.
// Invariant: the manifest is written last and covers every byte, its own included, so a checkpoint
// that is read without an Error is the one that was written.
// Errors: NotFound, Malformed, Mismatch (another model), all Reject; StorageFailed is Fatal. Cost:
// 12 bytes per parameter in memory and on disk; reading hashes all of it.
#pragma once

#include "stages/files/safetensors.hpp"
#include "stages/worker/stage_state.hpp"
#include "swarm/run/checkpoint_format.hpp"
#include "swarm/run/config.hpp"

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stages {

struct Checkpoint {
    swarm::ParameterVersion version;
    swarm::run::RunConfig config;
    std::string run_file;                      // TOML of `config`
    swarm::Digest run_file_hash;               // SHA-256 of `run_file`
    std::map<std::string, Safetensors> files;  // files by name, without the folder
};

struct FoundCheckpoint {
    Checkpoint checkpoint;
    std::filesystem::path folder;
    std::vector<std::string> notices;  // why newer checkpoints were passed over, newest first
};

/// State that each replica of mode sparse has of its own when all have the shared weights. The
/// vectors are flat.
struct ReplicaState {
    std::vector<float> first_moments;
    std::vector<float> second_moments;
    std::vector<float> error;  // buffer of what was not sent
};

/// A view of such a state for writing.
struct ReplicaView {
    std::uint32_t replica = 0;  // number of the replica in its stage, from 0
    const StageState* state = nullptr;
    std::span<const float> error;
};

/// Folder name of a version: "checkpoint-0-20" for version (0, 20).
std::string checkpoint_name(swarm::ParameterVersion version);

/// `stages` are the states of all stages of the model, in order, all of one version. `tokenizer`
/// are
/// the bytes of its file; empty means that tokens are bytes. `replicas` are those of all stages in
/// mode sparse, else empty.
swarm::run::CheckpointFiles checkpoint_files(
    const swarm::run::RunConfig& config,
    std::span<const StageState* const> stages,
    std::string_view tokenizer = {},
    std::span<const ReplicaView> replicas = {}
);

/// Makes the files of a checkpoint from the chunks that the coordinator has fetched.
class SafetensorsCheckpoint final : public swarm::run::CheckpointFormat {
 public:
    /// `config` has passed check_run().
    explicit SafetensorsCheckpoint(swarm::run::RunConfig config, std::string tokenizer = {})
        : config_(std::move(config)), tokenizer_(std::move(tokenizer)) {}

    [[nodiscard]] swarm::Result<swarm::run::CheckpointFiles> make_files(swarm::run::RunState state
    ) const override;

 private:
    swarm::run::RunConfig config_;
    std::string tokenizer_;
};

/// Returns the state of one stage of any split of the same model.
swarm::Result<StageState> restore_stage(
    const Checkpoint& checkpoint, const swarm::run::StageLayout& layout
);
swarm::Result<std::vector<StageState>> restore_stages(
    const Checkpoint& checkpoint, std::span<const swarm::run::StageLayout> layouts
);

/// Returns the replicas' states in the order of their numbers; empty where the checkpoint was made
/// in mode exact.
swarm::Result<std::vector<ReplicaState>> restore_replicas(
    const Checkpoint& checkpoint, const swarm::run::StageLayout& layout
);

// The functions below touch the disk: --single writes by them and everybody reads by them. A
// coordinator writes by WriteFile instead.

/// Folders below `parent` that have the name of a checkpoint, newest first, whole or not.
std::vector<std::filesystem::path> checkpoint_folders(const std::filesystem::path& parent);

/// Removes the folders of checkpoints that were begun and not finished: a full disk gets their room
/// back.
void remove_unfinished_checkpoints(const std::filesystem::path& parent);

/// Returns the checkpoints that run.checkpoint_keep and run.checkpoint_keep_every do not keep when
/// the one named `newest` is durable and recorded. That one, any of a later version, and the best
/// one (best_checkpoint.hpp) stay.
std::vector<std::filesystem::path> checkpoints_to_prune(
    const std::filesystem::path& parent,
    const std::string& newest,
    const swarm::run::RunConfig& config
);
/// Removes them. Error: StorageFailed (Retry): the others stay until the next call.
swarm::Result<> prune_checkpoints(
    const std::filesystem::path& parent,
    const std::string& newest,
    const swarm::run::RunConfig& config
);

/// Writes each file durably, in order. Returns the checkpoint's folder. A checkpoint that cannot be
/// finished is removed.
swarm::Result<std::filesystem::path> write_checkpoint(
    const std::filesystem::path& parent,
    const swarm::run::RunConfig& config,
    std::span<const StageState* const> stages,
    std::string_view tokenizer = {},
    std::span<const ReplicaView> replicas = {}
);
swarm::Result<Checkpoint> read_checkpoint(const std::filesystem::path& folder);
/// Returns the newest whole checkpoint below `parent`. The text of the error NotFound says why each
/// other one is not whole.
swarm::Result<FoundCheckpoint> find_latest(const std::filesystem::path& parent);

}  // namespace stages

// A checkpoint: all weights and AdamW moments of one version, as a folder checkpoint-<gen>-<step>.
//   manifest.json                 version, run file, name, size and SHA-256 of each other file
//   layers.17.safetensors         weights, by name: "layers.17.attn.wo"
//   layers.17.adam.safetensors    moments: "layers.17.attn.wo.exp_avg" and "….exp_avg_sq"
//   tokenizer.model               of a run whose tokens are not bytes
//   layers.17.replica-0.safetensors   of mode sparse: its moments, and "layers.17.attn.wo.error"
// One pair of files per layer, and for "embed" and "head", so any number of stages can load it.
// Invariant: the manifest is written last and covers every byte, its own too: a checkpoint that is
// read without an Error is the one that was written.
// Errors: NotFound, Malformed, Mismatch (another model), StorageFailed; all Reject but the last,
// which is Fatal. Cost: 12 bytes per parameter in memory and on disk; reads and hashes all of it.
#pragma once

#include "stages/safetensors.hpp"
#include "stages/stage_state.hpp"
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
    std::string run_file;                      // the TOML of config
    swarm::Digest run_file_hash;               // SHA-256 of run_file
    std::map<std::string, Safetensors> files;  // by name, without the folder
};

struct FoundCheckpoint {
    Checkpoint checkpoint;
    std::filesystem::path folder;
    std::vector<std::string> notices;  // why newer ones were passed over, newest first
};

/// What a replica of mode sparse keeps to itself, when all have the shared weights. Flat.
struct ReplicaState {
    std::vector<float> first_moments;
    std::vector<float> second_moments;
    std::vector<float> error;
};

/// The same, to be written. The replicas of a stage are numbered from 0.
struct ReplicaView {
    std::uint32_t replica = 0;
    const StageState* state = nullptr;
    std::span<const float> error;
};

/// "checkpoint-0-20": version (0, 20).
std::string checkpoint_name(swarm::ParameterVersion version);

/// `stages`: the state of every stage of the model, in order, all of one version. `tokenizer`: the
/// bytes of its file; empty: tokens are bytes. `replicas`: of all stages, in mode sparse.
swarm::run::CheckpointFiles checkpoint_files(
    const swarm::run::RunConfig& config,
    std::span<const StageState* const> stages,
    std::string_view tokenizer = {},
    std::span<const ReplicaView> replicas = {}
);

/// The coordinator's: from the chunks it has fetched.
class SafetensorsCheckpoint final : public swarm::run::CheckpointFormat {
 public:
    /// config has passed check_run().
    explicit SafetensorsCheckpoint(swarm::run::RunConfig config, std::string tokenizer = {})
        : config_(std::move(config)), tokenizer_(std::move(tokenizer)) {}

    [[nodiscard]] swarm::Result<swarm::run::CheckpointFiles> make_files(swarm::run::RunState state
    ) const override;

 private:
    swarm::run::RunConfig config_;
    std::string tokenizer_;
};

/// The state of a stage of any split of the same model.
swarm::Result<StageState> restore_stage(
    const Checkpoint& checkpoint, const swarm::run::StageLayout& layout
);
swarm::Result<std::vector<StageState>> restore_stages(
    const Checkpoint& checkpoint, std::span<const swarm::run::StageLayout> layouts
);

/// In the order of their numbers; none where the checkpoint was made in mode exact.
swarm::Result<std::vector<ReplicaState>> restore_replicas(
    const Checkpoint& checkpoint, const swarm::run::StageLayout& layout
);

// On disk, for --single and for reading. A coordinator writes by WriteFile.

/// Folders below `parent` that are named as checkpoints are, newest first; whole or not.
std::vector<std::filesystem::path> checkpoint_folders(const std::filesystem::path& parent);

/// Each file by a temporary name, fsync and rename, in order. Returns the checkpoint's folder.
swarm::Result<std::filesystem::path> write_checkpoint(
    const std::filesystem::path& parent,
    const swarm::run::RunConfig& config,
    std::span<const StageState* const> stages,
    std::string_view tokenizer = {},
    std::span<const ReplicaView> replicas = {}
);
swarm::Result<Checkpoint> read_checkpoint(const std::filesystem::path& folder);
/// The newest checkpoint below `parent` that is whole. NotFound says why each one is not.
swarm::Result<FoundCheckpoint> find_latest(const std::filesystem::path& parent);

}  // namespace stages

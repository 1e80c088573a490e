// The result of one of our runs, as a model: a checkpoint folder, or the folder of a run, of which
// the newest whole checkpoint is taken. The number of stages that wrote it does not matter.
// A run with model.repeat is a model of so many times its layers (training/shared_layers.hpp).
// Invariant: a model that opens has the weights that were written: each weight file has the SHA-256
// of the manifest. The optimizer's files are not read.
// Threading: one thread. Errors: NotFound (no whole checkpoint; the text says why the newest one is
// not whole), Malformed, Unsupported (a run of the oracle model), StorageFailed; Reject.
// Cost: opening reads and hashes all weights, 4 bytes per parameter, at 1.8 GB/s.
#pragma once

#include "stacking/models/model_source.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace stacking::models {

/// Whether the folder is a checkpoint or the folder of a run, judged by file names only.
bool is_run_checkpoint(const std::filesystem::path& folder);

swarm::Result<ModelSource> open_run_checkpoint(const std::filesystem::path& folder);

/// Reads the exits that a run was trained with (train.exits), as numbers of layers of its model;
/// none for most runs.
swarm::Result<std::vector<std::uint32_t>> read_run_exits(const std::filesystem::path& folder);

/// Reads the tokenizer of a checkpoint and checks it against the SHA-256 in the run's
/// configuration. For the folder of a run it takes the newest checkpoint whose tokenizer is whole.
/// Returns an empty text when the tokens are bytes.
swarm::Result<std::string> read_run_tokenizer(const std::filesystem::path& folder);

}  // namespace stacking::models

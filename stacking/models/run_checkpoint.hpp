// What a run of our own has trained, as a model: a checkpoint folder, or a run's folder, of which
// the newest checkpoint that is whole is taken. However many stages wrote it.
// Invariant: a model that opens has the weights that were written: each of their files has the
// SHA-256 that the manifest says. The optimizer's files are not read.
// Threading: one thread. Errors: NotFound (no checkpoint that is whole; says why the newest is
// not), Malformed, Unsupported (a run of the oracle model), StorageFailed; Reject.
// Cost: opening reads and hashes all weights, 4 bytes per parameter, 1.8 GB/s.
#pragma once

#include "stacking/models/model_source.hpp"

#include <filesystem>
#include <string>

namespace stacking::models {

/// Whether the folder is one of the two, by its names alone.
bool is_run_checkpoint(const std::filesystem::path& folder);

swarm::Result<ModelSource> open_run_checkpoint(const std::filesystem::path& folder);

/// The tokenizer that lies in a checkpoint, by the SHA-256 that its run has; of a run's folder in
/// the newest checkpoint that has it whole. Empty: the tokens are bytes.
swarm::Result<std::string> read_run_tokenizer(const std::filesystem::path& folder);

}  // namespace stacking::models

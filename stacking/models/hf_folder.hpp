// A Llama-family Hugging Face folder: config.json, and model.safetensors or the files that
// model.safetensors.index.json names. It is read as a ModelSource, and written from any
// ModelSource.
// Threading: one thread. Errors: those of config.json and of safetensors headers; Unsupported: a
// dtype other than F32, F16 and BF16, or a tensor that would stay unused; Malformed: an index that
// does not fit its files; NotFound, StorageFailed. Cost: opening reads only the headers; writing
// holds a few MiB.
#pragma once

#include "stacking/models/model_source.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace stacking::models {

swarm::Result<ModelSource> open_hf_folder(const std::filesystem::path& folder);

/// Names of the files with the folder's weights, in the order of the model's files.
swarm::Result<std::vector<std::string>> hf_weight_files(const std::filesystem::path& folder);

/// Is called with (bytes written so far, bytes in all).
using ExportProgress = std::function<void(std::uint64_t, std::uint64_t)>;

/// Writes config.json, generation_config.json and model.safetensors with F32 tensors, which
/// transformers can load. Each file appears when it is whole. The caller adds the tokenizer.
/// REQUIRES: the folder is empty or does not exist; otherwise the error is Usage.
swarm::Result<> write_hf_folder(
    const ModelSource& model, const std::filesystem::path& folder, const ExportProgress& progress
);

}  // namespace stacking::models

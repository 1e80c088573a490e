// A Llama-family Hugging Face folder: config.json, and model.safetensors or the files that
// model.safetensors.index.json names. Read as a ModelSource, and written from any ModelSource.
// Errors: those of config.json and of safetensors headers; Unsupported: a dtype other than F32, F16
// and BF16, a tensor that would be left unused; Malformed: an index that does not fit its files;
// NotFound, StorageFailed. Cost: opening reads the headers only; writing holds a few MiB.
#pragma once

#include "stacking/models/model_source.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>

namespace stacking::models {

swarm::Result<ModelSource> open_hf_folder(const std::filesystem::path& folder);

/// (bytes written so far, bytes in all)
using ExportProgress = std::function<void(std::uint64_t, std::uint64_t)>;

/// config.json, generation_config.json and model.safetensors with F32 tensors, which transformers
/// loads. The folder must be empty or not there; each file appears when it is whole. The caller
/// adds the tokenizer. Usage: the folder has files.
swarm::Result<> write_hf_folder(
    const ModelSource& model, const std::filesystem::path& folder, const ExportProgress& progress
);

}  // namespace stacking::models

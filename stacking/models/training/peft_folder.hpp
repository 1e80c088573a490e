// The adapters of a model as a folder of PyPI peft: adapter_config.json and
// adapter_model.safetensors, which PeftModel.from_pretrained(base, folder) reads.
// Threading: one thread. Errors: Usage (a model without adapters, a folder with files),
// StorageFailed. Cost: the adapters, in memory.
// Source: the format of peft 0.21; deviation: no name of the base model is written.
#pragma once

#include "stacking/models/model_source.hpp"

#include <filesystem>

namespace stacking::models {

/// `folder` is empty, or does not exist yet.
swarm::Result<> write_peft_folder(const ModelSource& model, const std::filesystem::path& folder);

}  // namespace stacking::models

// Adapters of a model as a folder of PyPI peft: adapter_config.json and adapter_model.safetensors.
// PeftModel.from_pretrained(base, folder) reads what is written here, and what it wrote is read.
// Invariant: a folder that was refused has changed nothing; what would change the answer is read or
// refused by name.
// Threading: one thread. Errors, all Reject: Usage (a model without adapters, a folder with files),
// Unsupported (another kind of adapter), Malformed, Mismatch (adapters of another model),
// NotFinite, NotFound; StorageFailed. Cost: the adapters, in memory.
// Source: the format of peft 0.21; deviation: no name of the base model is written.
#pragma once

#include "stacking/models/model_source.hpp"

#include <filesystem>

namespace stacking::models {

inline constexpr const char* kPeftConfigFile = "adapter_config.json";
inline constexpr const char* kPeftWeightsFile = "adapter_model.safetensors";
/// The names of tensors are this, the module, and one of the two endings.
inline constexpr const char* kPeftPrefix = "base_model.model.";
inline constexpr const char* kPeftInEnding = ".lora_A.weight";
inline constexpr const char* kPeftOutEnding = ".lora_B.weight";

/// `folder` is empty, or does not exist yet.
swarm::Result<> write_peft_folder(const ModelSource& model, const std::filesystem::path& folder);

/// Adds the folder's adapters to the matrices of `model`, which reads as the merged model then. A
/// model that has adapters already is Unsupported.
swarm::Result<> add_peft_folder(const std::filesystem::path& folder, ModelSource& model);

}  // namespace stacking::models

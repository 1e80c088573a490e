// A catalogue by name of the tensors in some safetensors files, before their use is known.
// Invariant: every entry lies inside its file; no name comes twice.
// Threading: one thread. Errors: those of opening and of safetensors headers; TooLarge: more than
// kTensorsMax tensors; Malformed: a name in two files. All are Reject. Cost: reads the headers
// only.
#pragma once

#include "stacking/models/model_source.hpp"
#include "stages/files/safetensors_header.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace stacking::models {

/// A tensor with a valid shape and place; its dtype may be one that this program cannot read.
struct FoundTensor {
    std::size_t file = 0;
    std::uint64_t offset = 0;
    stages::SafetensorsEntry entry;
};

using TensorCatalogue = std::map<std::string, FoundTensor, std::less<>>;

/// Adds the file to `files` and its tensors to `catalogue`.
swarm::Result<> add_safetensors(
    const std::filesystem::path& path, ModelSource::Files& files, TensorCatalogue& catalogue
);

/// Returns Unsupported unless the tensor is stored as F32, F16, BF16 or F8_E4M3.
swarm::Result<StoredTensor> as_stored(const std::string& name, const FoundTensor& found);

/// Makes a refusal whose text begins with the path.
swarm::Error refused_at(
    swarm::ErrorCode code, const std::filesystem::path& where, const std::string& what
);

}  // namespace stacking::models

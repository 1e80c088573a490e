// The tensors of some safetensors files, by name, before anybody knows what they are for.
// Invariant: every entry lies inside its file; no name comes twice.
// Threading: one thread. Errors: those of opening and of safetensors headers; TooLarge: more than
// kTensorsMax; Malformed: a name in two files. All Reject. Cost: reads the headers only.
#pragma once

#include "stacking/models/model_source.hpp"
#include "stages/safetensors_header.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace stacking::models {

/// Shape and place are valid, the dtype may be none that is read.
struct FoundTensor {
    std::size_t file = 0;
    std::uint64_t offset = 0;
    stages::SafetensorsEntry entry;
};

using TensorCatalogue = std::map<std::string, FoundTensor, std::less<>>;

/// Its tensors and itself become part of both.
swarm::Result<> add_safetensors(
    const std::filesystem::path& path, ModelSource::Files& files, TensorCatalogue& catalogue
);

/// Unsupported unless it is stored as F32, F16 or BF16.
swarm::Result<StoredTensor> as_stored(const std::string& name, const FoundTensor& found);

/// A refusal that begins with the path.
swarm::Error refused_at(
    swarm::ErrorCode code, const std::filesystem::path& where, const std::string& what
);

}  // namespace stacking::models

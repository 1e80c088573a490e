// A tiny model of families.json as files: a Hugging Face folder, and a GGUF file in memory.
// Its weights are the function of (name, index) that families.py has, too.
#pragma once

#include "stacking/models/model_source.hpp"

#include <boost/json/object.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace swarm::golden {

/// Returns the first `count` numbers in [0, 1) that belong to a name.
std::vector<float> uniform(const std::string& name, std::size_t count);

/// Writes config.json and model.safetensors.
void write_folder(const boost::json::object& golden, const std::filesystem::path& folder);

/// Returns the bytes of the file that llama.cpp's converter would write. REQUIRES: "gguf".
std::vector<std::byte> make_gguf(const boost::json::object& golden);

}  // namespace swarm::golden

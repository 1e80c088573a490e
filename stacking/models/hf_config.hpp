// config.json of a Hugging Face folder, as versions 4 and 5 of transformers write it.
//   version 5: "rope_parameters": {"rope_type": "default", "rope_theta": 100000.0}, "dtype"
//   version 4: "rope_theta": 100000.0, "rope_scaling": null, "torch_dtype"
// Both are read; where a file has both, they must agree. A file with a rope base in neither place
// means 10,000, as in the first Llama.
// Threading: pure functions. Errors: Malformed; Unsupported (another model_type, activation, rope,
// head width, biases); Reject. Source: transformers, configuration_llama.py.
#pragma once

#include "stacking/models/architecture.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stacking::models {

/// Reads a configuration, which the caller must check(). `name`: the folder's name, for people.
swarm::Result<Architecture> parse_hf_config(std::string_view json, std::string name);

/// Returns the end tokens that a generation_config.json names; nullopt: it names none, and those of
/// config.json count. Members about sampling have no effect here: the request decides.
swarm::Result<std::optional<std::vector<std::uint32_t>>> parse_hf_generation_config(
    std::string_view json
);

/// Writes a config.json from which both versions read the same architecture.
std::string make_hf_config(const Architecture& architecture);

/// Writes a generation_config.json: the tokens at which generation begins and ends.
std::string make_hf_generation_config(const Architecture& architecture);

}  // namespace stacking::models

// config.json of a Hugging Face folder, as versions 4 and 5 of transformers write it.
//   version 5: "rope_parameters": {"rope_type": "default", "rope_theta": 100000.0}, "dtype"
//   version 4: "rope_theta": 100000.0, "rope_scaling": null, "torch_dtype"
// Both are read; where both are there they must agree. A rope base in neither place is 10,000, as
// in the first Llama. Errors: Malformed; Unsupported (another model_type, activation, rope, head
// width, biases); Reject. Threading: pure functions. Source: transformers, configuration_llama.py.
#pragma once

#include "stacking/models/architecture.hpp"

#include <string>
#include <string_view>

namespace stacking::models {

/// `name`: for people, the folder's. Not check()ed yet.
swarm::Result<Architecture> parse_hf_config(std::string_view json, std::string name);

/// What both versions read back as the same architecture.
std::string make_hf_config(const Architecture& architecture);

/// generation_config.json: where generation begins and ends.
std::string make_hf_generation_config(const Architecture& architecture);

}  // namespace stacking::models

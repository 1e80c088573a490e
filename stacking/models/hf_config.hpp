// config.json of a Hugging Face folder, as versions 4 and 5 of transformers write it, for every
// family of families/family.hpp. hf_rope.hpp has its rotary positions.
// Invariant: a member that changes the computation is read or refused by name; those that concern
// training alone (dropout, initialisation, use_cache) have no effect.
// Threading: pure functions. Errors: Malformed; Unsupported (another model_type, activation, rope,
// quantised weights); Reject. Source: the configuration_*.py files of transformers.
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

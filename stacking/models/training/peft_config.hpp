// The file adapter_config.json of a folder of PyPI peft: which matrices have adapters, and their
// rank and scale.
// Invariant: rank and scale are within bounds. Every member that would change the answer is read,
// or refused by its name; so is one that is not known here and has a value.
// Threading: a pure function. Errors: Malformed, TooLarge, Unsupported; all Reject.
#pragma once

#include "swarm/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stacking::models {

struct PeftConfig {
    std::uint32_t rank = 0;
    float scale = 0;                     // factor of the product of both matrices
    std::vector<std::string> targets{};  // "q_proj" or "self_attn.q_proj"; empty: a pattern
    bool in_every_layer = false;         // each module that a target names has an adapter

    /// Whether one of the targets is the module or the end of its name.
    [[nodiscard]] bool names(std::string_view module) const;
};

swarm::Result<PeftConfig> parse_peft_config(std::string_view text);

}  // namespace stacking::models

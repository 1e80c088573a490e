// Which experts of a mixture a row goes to, and with which shares.
//   p = softmax(logits over all experts); the `chosen` largest p, or those divided by their sum
// Invariant: the result depends on the row's logits alone and has the same bits on every machine;
// of equal probabilities the lower index counts as larger. Shares come in the order of the experts'
// indices, in which their outputs are added.
// Threading: pure. Errors: none; NaN among the logits gives shares that are NaN.
// Cost: O(experts x chosen).
// Source: the routers of Mixtral and Qwen3-MoE in transformers 5. Deviation: the order of adding.
#pragma once

#include "stacking/models/traits.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace stacking::llama {

struct ExpertShare {
    std::uint32_t expert = 0;
    float share = 0;
};

/// REQUIRES: as many logits as experts.
std::vector<ExpertShare> choose_experts(
    std::span<const float> logits, const models::Experts& experts
);

}  // namespace stacking::llama

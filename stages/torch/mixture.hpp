// A mixture of experts in place of a feed-forward part. A row x has the router's logits R x, and
//   p = softmax(R x);  s_e = p_e / (sum of the k largest p) for the k experts with the largest p
//   y = sum over these e of s_e w2_e (silu(w1_e x) * w3_e x)
// With k = 1 the share is 1, and has the gradient of p_e / (p_e as a constant): as in Switch
// Transformer, whose router would otherwise learn by its balance alone.
// Invariants: of equal probabilities the lower index counts as larger, as in stacking/llama; every
// sum has one order, so a microbatch has the same bits on every machine of a class.
// Threading: one thread. Errors: c10::Error. Cost: the experts that rows chose, k per row, and one
// synchronisation per expert on a GPU.
// Source: Mixtral (arXiv 2401.04088), Switch Transformer (arXiv 2101.03961) section 2.2.
#pragma once

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <functional>
#include <span>

namespace stages::torch_backend {

struct Mixed {
    at::Tensor rows;     // (N, C)
    at::Tensor balance;  // scalar: E x sum of f_e x mean p_e, see swarm/run/training/mixture.hpp
};

/// The feed-forward part of one expert, (N, C) to (N, C).
using ExpertFunction = std::function<at::Tensor(std::int64_t expert, const at::Tensor& rows)>;

/// Maps rows (N, C) by the router (E, C) and E experts, of which each row meets `per_row`, 1 to E.
Mixed mix_experts(
    const at::Tensor& rows,
    const at::Tensor& router,
    std::int64_t per_row,
    const ExpertFunction& expert
);

}  // namespace stages::torch_backend

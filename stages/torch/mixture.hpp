// A mixture of experts in place of a feed-forward part. A row x has the router's logits R x, and
//   p = softmax(R x);  s_e = p_e / (sum of the k largest p) for the k experts with the largest p
//   y = sum over these e of s_e w2_e (silu(w1_e x) * w3_e x)
// With k = 1 the share is 1, and has the gradient of p_e / (p_e as a constant): as in Switch
// Transformer, whose router would otherwise learn by its balance alone.
// Invariants: of equal probabilities the lower index counts as larger, as in stacking/llama; every
// sum has one order, so a microbatch has the same bits on every machine of a class, and whether or
// not stages share the experts of a layer.
// Threading: one thread. Errors: c10::Error. Cost: the experts that rows chose, k per row, and one
// synchronisation per expert on a GPU.
// Source: Mixtral (arXiv 2401.04088), Switch Transformer (arXiv 2101.03961) section 2.2.
#pragma once

#include "swarm/run/training/expert_stages.hpp"

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <functional>

namespace stages::torch_backend {

struct Routed {
    at::Tensor shares;   // (N, E): s_e, 0 where the row does not meet e
    at::Tensor balance;  // scalar: E x sum of f_e x mean p_e, see swarm/run/training/mixture.hpp
};

/// Routes rows (N, C) by the router (E, C) to `per_row` of E experts each, 1 to E.
Routed route_rows(const at::Tensor& rows, const at::Tensor& router, std::int64_t per_row);

/// The same shares with all but the `per_row` largest of a row set to 0: lossy codecs make small
/// ones of zeros.
at::Tensor largest_shares(const at::Tensor& shares, std::int64_t per_row);

/// The feed-forward part of one expert, (N, C) to (N, C).
using ExpertFunction = std::function<at::Tensor(std::int64_t expert, const at::Tensor& rows)>;

/// Returns `onto` (N, C) + the sum of s_e expert(e, rows) over the experts [first, end) that a row
/// meets, in the order of e.
at::Tensor add_experts(
    at::Tensor onto,
    const at::Tensor& rows,
    const at::Tensor& shares,
    swarm::run::ExpertRange experts,
    const ExpertFunction& expert
);

}  // namespace stages::torch_backend

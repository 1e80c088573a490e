// The second pass of a looped step (swarm/run/training/loop.hpp). With h the rows (B, T, C) behind
// the last layer in the first pass, before the head's norm, and H the entropies of their logits:
//   x[t] = h[t] at the `count` positions of a sequence with the largest H (of equal ones the lower
//          position comes first), elsewhere the embedding of token t
//   loss = the mean cross entropy over these positions, as far as their targets count
// h and the choice are constants: the first pass learns nothing. Nothing leaks: h[t] has read the
// tokens up to t, attention is causal, and the target at t is token t + 1 of the same sequence.
// Threading: one thread. Errors: c10::Error. Cost: a forward without gradients, a third of a step.
// Source: model stacking (S. Mueller 2025); COCONUT (arXiv 2412.06769) puts h[t - 1] at positions
// of their own, one pass for each. Here h[t] is at t, where a path through a stage again finds it.
#pragma once

#include "stages/torch/llama_model.hpp"

#include <ATen/core/Tensor.h>
#include <cstdint>

namespace stages::torch_backend {

struct SecondPass {
    at::Tensor input{};      // (B, T, C); has the gradient of the embeddings
    at::Tensor positions{};  // (B, count) int64, rising in each row
};

/// Makes the first pass. `model` is a whole model, `embedded` (B, T, C) the embeddings of its
/// tokens, `mask` that of run_layers(); 0 < count <= T.
SecondPass second_pass(
    const LlamaModel& model, const at::Tensor& embedded, const at::Tensor& mask, std::int64_t count
);

/// The loss of the second pass, whose last layer gave `rows`; 0 where no target counts. `targets`:
/// those of LlamaModel::loss().
at::Tensor looped_loss(
    const LlamaModel& model,
    const at::Tensor& rows,
    const at::Tensor& targets,
    const at::Tensor& positions
);

/// Returns the `count` positions of each row of `entropies` (B, T) with the largest ones.
at::Tensor largest_positions(const at::Tensor& entropies, std::int64_t count);

}  // namespace stages::torch_backend

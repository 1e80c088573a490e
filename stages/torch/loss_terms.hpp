// Terms of a run's loss beside that of the last layer: the balance of a mixture's routers, and the
// losses at exits (swarm/run/training/exits.hpp). A term is known by its gradient, which enters the
// stage's backward beside the gradient that comes from above.
// Invariant: the gradient of an exit by its rows is made with the forward. So a kept graph has the
// B x T x C values of it, and not the B x T x V of the logits; the head needs no gradient.
// Threading: one thread. Errors: functions throw c10::Error.
#pragma once

#include "stages/torch/llama_model.hpp"

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <span>

namespace stages::torch_backend {

struct LossTerm {
    at::Tensor at;        // tensor of the stage's graph
    at::Tensor gradient;  // gradient of the term by it, with all factors
};

/// Targets of a microbatch, and whether some of them count.
struct Targets {
    at::Tensor ids;  // (B, T)
    Counted counted = Counted::Some;
};

/// `ids`: those of `tokens`, (B, T + 1). Where no token has a flag, the targets are a view of it.
Targets targets_of(const at::Tensor& ids, std::span<const std::uint32_t> tokens);

/// The term factor x value, of a scalar of the graph.
LossTerm scaled_term(const at::Tensor& value, double factor);

/// The term factor x loss of the head on `rows`, (B, T, C) of the graph.
LossTerm exit_term(
    const LlamaModel& model, const at::Tensor& rows, const Targets& targets, double factor
);

}  // namespace stages::torch_backend

// A second implementation of the Llama model, in plain loops over doubles, written from the papers.
// The LibTorch stages are compared with it. It is slow and meant for tiny models.
// Shapes: `weights` are all tensors of the whole model in global order, flat.
#pragma once

#include "swarm/run/config.hpp"
#include "swarm/run/partition.hpp"

#include <cstdint>
#include <span>
#include <vector>

/// Logits of every position of one sequence: T rows of V.
std::vector<std::vector<double>> reference_logits(
    const swarm::run::ModelConfig& config,
    const swarm::run::StageLayout& whole,
    std::span<const double> weights,
    std::span<const std::uint32_t> tokens
);

/// Mean cross entropy of B rows of T + 1 tokens.
double reference_loss(
    const swarm::run::RunConfig& config,
    const swarm::run::StageLayout& whole,
    std::span<const double> weights,
    std::span<const std::uint32_t> tokens
);

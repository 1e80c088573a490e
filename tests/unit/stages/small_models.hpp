// Small runs for the tests of stages, and a stand-in for a real model.
#pragma once

#include "stages/compute.hpp"
#include "stages/stage_worker.hpp"
#include "swarm/run/config.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

namespace stages::test {

swarm::run::RunConfig oracle_run(std::uint32_t stages, std::uint32_t microbatches);
/// About 5,000 weights in 3 layers, 5 microbatches.
swarm::run::RunConfig small_run(std::uint32_t stages);

inline constexpr std::uint64_t kNoiseGraphBytes = 1000;

/// Gradients of all sizes and both signs, a function of (tokens, tensor name, weight) alone, so
/// they are the same for every split. Activations are a function of the tokens.
std::unique_ptr<StageCompute> make_noise_compute(
    const swarm::run::RunConfig& config, const swarm::run::StageLayout& layout
);

/// As `inner`, but its `bad` losses, counted over all of its steps, are no numbers.
std::unique_ptr<StageCompute> make_losses_not_finite(
    std::unique_ptr<StageCompute> inner, std::set<int> bad
);

/// One worker at version 0 for a stage of the run.
std::unique_ptr<StageWorker> make_worker(
    const swarm::run::RunConfig& config, MakeCompute make_compute, std::uint32_t stage
);

/// The leg of a microbatch in step 0, without input.
StageWorker::Leg leg_of(const swarm::run::RunConfig& config, std::uint32_t microbatch);

}  // namespace stages::test

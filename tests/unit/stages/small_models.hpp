// Small runs for the tests of stages, and a stand-in for a real model.
#pragma once

#include "stages/compute/compute.hpp"
#include "stages/worker/stage_worker.hpp"
#include "swarm/run/config.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

namespace stages::test {

swarm::run::RunConfig oracle_run(std::uint32_t stages, std::uint32_t microbatches);
/// A run with about 5,000 weights in 3 layers and 5 microbatches.
swarm::run::RunConfig small_run(std::uint32_t stages);

inline constexpr std::uint64_t kNoiseGraphBytes = 1000;

/// Makes a compute with gradients of all sizes and both signs. They are a function of (tokens,
/// tensor name, weight) alone, so they are the same for every split. Activations are a function of
/// the tokens.
std::unique_ptr<StageCompute> make_noise_compute(
    const swarm::run::RunConfig& config, const swarm::run::StageLayout& layout
);

/// Makes a compute like `inner`, but with NaN as loss number n for each n in `bad`, counted from 0
/// over all steps.
std::unique_ptr<StageCompute> make_losses_not_finite(
    std::unique_ptr<StageCompute> inner, std::set<int> bad
);

/// Makes a worker at version 0 for one stage of the run.
std::unique_ptr<StageWorker> make_worker(
    const swarm::run::RunConfig& config, MakeCompute make_compute, std::uint32_t stage
);

/// The leg of a microbatch in step 0 without an input.
StageWorker::Leg leg_of(const swarm::run::RunConfig& config, std::uint32_t microbatch);

}  // namespace stages::test

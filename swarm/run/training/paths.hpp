// Other paths through the layers: some microbatches leave the layers of paths.layers out, and some
// take them twice in a row, so that the trained model is good at such paths, too. A microbatch
// visits all its stages as ever; the stage that has these layers computes another function. Skipped
// layers are the identity, and their gradient is 0.
// Invariant: pure functions of (run, step, microbatch), so a replay, a resumed run, --single and
// each peer take the same paths. They are counted, not drawn: each step has the same shares, up to
// one microbatch, so the losses of steps can be compared; and a place in the step takes all paths.
// The layers lie in one stage: a second pass over two stages would need a way back.
// Threading: pure. Source: LayerSkip (arXiv 2404.16710), SkipPipe (arXiv 2502.19913).
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/run/config.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace swarm::run {

struct StageLayout;

enum class LayerPath : std::uint8_t { Plain, Skipped, Twice };

/// Times that a microbatch computes each of paths.layers, in the mean over microbatches.
double mean_passes(const PathsConfig& paths);

/// Layers of one stage, counted from its first one.
struct Detour {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

/// `step` counts from 0. Of step + microbatch the multiples of skip_every are skipped; of the
/// others those that are 1 above a multiple of twice_every are taken twice.
LayerPath path_of(const PathsConfig& paths, std::uint64_t step, MicrobatchId microbatch);

/// The path of the run that keeps the largest graph.
LayerPath longest_path(const PathsConfig& paths);

/// Those of paths.layers that the stage has; all of them or none.
Detour detour_of(const RunConfig& config, const StageLayout& stage);

/// The layers that a path takes through a stage of `layers` layers, in order.
std::vector<std::uint32_t> layers_on(LayerPath path, std::size_t layers, Detour detour);

/// The key at fault and the end of a sentence about it. REQUIRES: the model can be cut into stages.
std::optional<std::pair<std::string, std::string>> paths_fault(const RunConfig& config);

}  // namespace swarm::run

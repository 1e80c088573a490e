#include "swarm/run/training/loop.hpp"

#include <algorithm>
#include <cmath>

namespace swarm::run {
namespace {

/// Takes the rounding error of a share away, so that 0.07 of 100 positions are 7.
constexpr double kRounding = 1e-6;

}  // namespace

bool is_looped(const LoopConfig& loop, std::uint64_t step) {
    return loop.every > 0 && (step + 1) % loop.every == 0;
}

std::uint32_t looped_positions(const RunConfig& config) {
    const std::uint32_t context = config.model.context;
    const double share = std::ceil(config.loop.part * context - kRounding);
    return std::clamp(static_cast<std::uint32_t>(std::max(share, 1.0)), 1U, context);
}

std::optional<std::pair<std::string, std::string>> loop_fault(const RunConfig& config) {
    if (config.loop.every == 0) {
        return std::nullopt;
    }
    const auto fault = [](const char* key, const char* what) {
        return std::pair(std::string(key), std::string(what));
    };
    if (config.model.kind == ModelKind::Oracle || config.mode == SyncMode::Sparse) {
        return fault("loop.every", "must be 0 for the oracle model and in mode sparse");
    }
    if (config.stages != 1) {
        return fault(
            "loop.every",
            "needs run.stages = 1: states would have to travel from the last stage to the first"
        );
    }
    if (!(config.loop.part > 0)) {
        return fault("loop.part", "must be above 0 where loop.every is given");
    }
    return std::nullopt;
}

}  // namespace swarm::run

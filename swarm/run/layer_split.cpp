#include "swarm/run/layer_split.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace swarm::run {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

/// The worth of a split of the first layers: the longest stage decides, then the shortest.
struct Balance {
    double longest = kNone;  // kNone where there is no split
    double shortest = 0;
    std::size_t last_cut = 0;  // where the last stage of the split begins

    [[nodiscard]] Balance with(double stage_time, std::size_t cut) const {
        return {std::max(longest, stage_time), std::min(shortest, stage_time), cut};
    }

    [[nodiscard]] bool better_than(const Balance& other) const {
        return longest != other.longest ? longest < other.longest : shortest > other.shortest;
    }
};

}  // namespace

Result<std::vector<std::uint32_t>> split_layers(
    const std::vector<LayerCost>& layers,
    std::uint32_t stages,
    const std::vector<std::uint64_t>& memory_bytes,
    const std::vector<double>& speeds
) {
    SWARM_ASSERT(stages > 0 && stages <= layers.size());
    SWARM_ASSERT(memory_bytes.empty() || memory_bytes.size() == stages);
    SWARM_ASSERT(speeds.empty() || speeds.size() == stages);
    // best[s][n]: the best split of the first n layers into s stages.
    std::vector<std::vector<Balance>> best(stages + 1, std::vector<Balance>(layers.size() + 1));
    best[0][0] = {0, kNone, 0};
    for (std::size_t s = 1; s <= stages; ++s) {
        const double speed = speeds.empty() ? 1 : speeds[s - 1];
        for (std::size_t n = s; n <= layers.size(); ++n) {
            Balance& chosen = best[s][n];
            double time = 0;
            std::uint64_t bytes = 0;
            for (std::size_t cut = n; cut-- >= s;) {
                time += layers[cut].time / speed;
                bytes += layers[cut].memory_bytes;
                if (!memory_bytes.empty() && bytes > memory_bytes[s - 1]) {
                    break;
                }
                const Balance tried = best[s - 1][cut].with(time, cut);
                if (tried.better_than(chosen)) {
                    chosen = tried;
                }
            }
        }
    }
    if (best[stages][layers.size()].longest == kNone) {
        return Error{
            ErrorCode::Mismatch,
            Reaction::Reject,
            std::to_string(layers.size()) + " layers do not fit into " + std::to_string(stages) +
                " stages of the memory that is lent: lend more, or use more stages"};
    }
    std::vector<std::uint32_t> split(stages);
    for (std::size_t s = stages, n = layers.size(); s > 0; n = best[s][n].last_cut, --s) {
        split[s - 1] = static_cast<std::uint32_t>(n - best[s][n].last_cut);
    }
    return split;
}

std::string to_text(const std::vector<std::uint32_t>& layers_per_stage) {
    std::string text;
    for (const std::uint32_t layers : layers_per_stage) {
        text += (text.empty() ? "" : ", ") + std::to_string(layers);
    }
    return text;
}

}  // namespace swarm::run

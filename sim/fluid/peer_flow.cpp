#include "sim/fluid/peer_flow.hpp"

#include <algorithm>

namespace sim {
namespace {

constexpr double kUnitsPerWorkUnit = 3;  // forward 1, backward 2
constexpr double kFastest_s = 1e-9;

double time_for(double bytes, std::uint64_t bytes_per_s) {
    return bytes_per_s == 0 ? 0 : bytes / static_cast<double>(bytes_per_s);
}

}  // namespace

double units_per_microbatch(const Pipeline& pipeline) {
    return kUnitsPerWorkUnit * pipeline.work_units;
}

std::uint32_t tensors_each_way(const Pipeline& pipeline, std::uint32_t stage) {
    const std::uint32_t below = stage > 0 ? 1 : 0;
    const std::uint32_t above = stage + 1 < pipeline.stages ? 1 : 0;
    return below + above;
}

PeerFlow flow_of(
    const FleetPeer& peer, double speed, const Pipeline& pipeline, std::uint32_t stage
) {
    const double units = units_per_microbatch(pipeline);
    if (speed <= 0) {
        return {};
    }
    PeerFlow flow;
    flow.compute_s = peer.units_per_s > 0 ? std::max(kFastest_s, units / (peer.units_per_s * speed))
                                          : kFastest_s;
    const double bytes = static_cast<double>(tensors_each_way(pipeline, stage)) *
                         static_cast<double>(pipeline.activation_bytes);
    const double down_s = time_for(bytes, peer.down_bytes_per_s);
    const double up_s = time_for(bytes, peer.up_bytes_per_s);
    flow.carry_s = std::max(down_s, up_s);
    flow.per_s = 1 / std::max({flow.compute_s, down_s, up_s});
    flow.units_per_s = units * flow.per_s;
    flow.up_bytes_per_s = peer.up_bytes_per_s;
    return flow;
}

}  // namespace sim

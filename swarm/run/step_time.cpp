#include "swarm/run/step_time.hpp"

#include "compression/codec.hpp"
#include "swarm/base/check.hpp"

#include <algorithm>

namespace swarm::run {
namespace {

/// Messages between two steps: the last PATH, and the first FORWARD of the next step.
constexpr double kCommitHops = 2;

/// The devices of all peers of a stage, or one direction of their lines.
struct Part {
    Busiest kind = Busiest::Device;
    std::size_t stage = 0;
    double takes_s = 0;   // one microbatch
    double period_s = 0;  // from one microbatch to the next
};

Part busiest_of(const std::vector<StageTime>& stages) {
    Part busiest;
    const auto consider = [&](Busiest kind, std::size_t s, double takes_s) {
        const double period_s = takes_s / stages[s].peers;
        if (period_s > busiest.period_s) {
            busiest = {kind, s, takes_s, period_s};
        }
    };
    for (std::size_t s = 0; s < stages.size(); ++s) {
        consider(Busiest::Device, s, stages[s].compute_s);
        consider(Busiest::Line, s, stages[s].to_next_s + stages[s].to_previous_s);
        const double from_below_s = s == 0 ? 0 : stages[s - 1].to_next_s;
        const double from_above_s = s + 1 == stages.size() ? 0 : stages[s + 1].to_previous_s;
        consider(Busiest::Line, s, from_below_s + from_above_s);
    }
    return busiest;
}

}  // namespace

StepTime step_time(
    const std::vector<StageTime>& stages,
    std::uint32_t microbatches,
    std::uint32_t in_flight,
    double latency_s
) {
    SWARM_ASSERT(!stages.empty() && in_flight > 0);
    double way_s = 2 * static_cast<double>(stages.size()) * latency_s;
    for (const StageTime& stage : stages) {
        way_s += stage.compute_s + stage.to_next_s + stage.to_previous_s;
    }
    const Part busiest = busiest_of(stages);
    const double bubble_s = way_s - busiest.takes_s;
    const double by_work_s = microbatches * busiest.period_s + bubble_s;
    const double by_window_s = microbatches * way_s / in_flight;
    const bool window_limits = by_window_s > by_work_s && in_flight < microbatches;
    return {
        std::max(by_work_s, by_window_s) + kCommitHops * latency_s,
        bubble_s,
        window_limits ? Busiest::Window : busiest.kind,
        busiest.stage};
}

double bytes_of_sum(double line_bytes_per_s) {
    const bool raw = line_bytes_per_s == 0 || line_bytes_per_s > kRawSumsAboveBytesPerS;
    return raw ? sizeof(std::int64_t) : kPackedSumBytes;
}

std::uint64_t bytes_of_share(std::uint64_t parameters) {
    return compression::find_codec(compression::CodecId::Sparse)->encoded_bytes(parameters);
}

double sync_bytes(
    SyncMode mode, std::uint64_t parameters, std::uint32_t replicas, double line_bytes_per_s
) {
    SWARM_ASSERT(replicas > 0);
    const double others = replicas - 1;
    if (mode == SyncMode::Sparse) {
        return others * static_cast<double>(bytes_of_share(parameters));
    }
    const double each = bytes_of_sum(line_bytes_per_s) + sizeof(float);
    return each * static_cast<double>(parameters) * others / replicas;
}

}  // namespace swarm::run

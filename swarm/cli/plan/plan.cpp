#include "swarm/cli/plan/plan.hpp"

#include "swarm/cli/common/files.hpp"
#include "swarm/cli/plan/run_plan.hpp"
#include "swarm/cli/setup/run_setup.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/run/layer_split.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>

namespace swarm::cli {
namespace {

/// Speed of a few cores, for peers without --speeds.
constexpr double kGflopPerS = 100;
/// Speed of the machine that measured --layer-ms.
constexpr double kTheMeasuredOne = 1;
constexpr double kMsPerS = 1000;

std::vector<run::PeerPower> peers_of(const PlanOptions& options, std::uint32_t stages) {
    const bool measured = !options.layer_ms.empty();
    std::vector<double> speeds = options.speeds;
    if (speeds.empty()) {
        speeds.push_back(measured ? kTheMeasuredOne : kGflopPerS);
    }
    const auto named = static_cast<std::uint32_t>(options.speeds.size());
    const std::uint32_t count = options.peers.value_or(std::max(named, stages));
    std::vector<run::PeerPower> peers;
    for (std::uint32_t i = 0; i < count; ++i) {
        const double speed = speeds[i % speeds.size()];
        peers.push_back({measured ? speed * kMsPerS : speed, options.memory_bytes});
    }
    return peers;
}

}  // namespace

int plan(const PlanOptions& options) {
    Console console;
    Result<run::RunConfig> config = resolve_run(options.run_file, options.run);
    if (!config) {
        return end_with(console, config.error());
    }
    PlanRequest request{std::move(*config), {}, options.layer_ms, 0};
    request.peers = peers_of(options, request.config.stages);
    request.latency_s = std::chrono::duration<double>(options.latency).count();
    request.line_bytes_per_s.assign(
        options.line_bytes_per_s.begin(), options.line_bytes_per_s.end()
    );
    const Result<RunPlan> planned = make_plan(request);
    if (!planned) {
        return end_with(console, planned.error());
    }
    const std::vector<std::uint32_t> better = better_split(request, *planned);
    if (options.speeds.empty() && options.layer_ms.empty()) {
        console.info("no --speeds: each peer is taken for 100 GFLOP/s");
    }
    const auto unit = options.layer_ms.empty() ? WorkUnit::Gflop : WorkUnit::Milliseconds;
    std::cout << printable(to_text(*planned, unit));
    if (!better.empty()) {
        std::cout << "by time it would be faster with layers_per_stage = [" << run::to_text(better)
                  << "]" << '\n';
    }
    const bool written = options.json_file.empty() ||
                         write_text(console, options.json_file, to_json(*planned, better));
    return written ? kDone : kRunFailed;
}

}  // namespace swarm::cli

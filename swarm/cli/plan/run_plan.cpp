#include "swarm/cli/plan/run_plan.hpp"

#include "swarm/run/codec_choice.hpp"
#include "swarm/run/layer_split.hpp"
#include "swarm/run/layer_work.hpp"
#include "swarm/run/memory_plan.hpp"
#include "swarm/run/partition.hpp"
#include "swarm/run/step_time.hpp"
#include "swarm/run/training/boundary_maps.hpp"
#include "swarm/run/training/expert_stages.hpp"
#include "swarm/run/training/paths.hpp"
#include "swarm/run/training/trained_part.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace swarm::cli {
namespace {

/// Share of the step above which its bubble is its limit.
constexpr double kLargeBubble = 0.25;
/// Gain below which another split is not worth a line.
constexpr double kBetterBy = 0.01;

/// Work of a forward as a share of a forward and a backward.
constexpr double kForwardShare = 1.0 / 3;

Error rejected(ErrorCode code, std::string detail) {
    return {code, Reaction::Reject, std::move(detail)};
}

std::vector<double> units_of(const PlanRequest& request) {
    std::vector<double> units =
        request.layer_ms.empty() ? run::layer_work(request.config) : request.layer_ms;
    const double passes = run::mean_passes(request.config.paths);
    for (const std::uint32_t layer : request.config.paths.layers) {
        units[layer] *= passes;
    }
    return units;
}

std::vector<run::StageNeed> needs_of(const RunPlan& plan) {
    std::vector<run::StageNeed> needs;
    for (const RunPlan::Stage& stage : plan.stages) {
        needs.push_back({stage.units, stage.memory_bytes});
    }
    return needs;
}

RunPlan stages_of(const PlanRequest& request) {
    const std::vector<double> units = units_of(request);
    RunPlan plan;
    plan.microbatches = request.config.microbatches;
    plan.repeat = request.config.model.repeat;
    plan.path_layers = request.config.paths.layers;
    plan.path_passes = run::mean_passes(request.config.paths);
    plan.width = request.config.model.width;
    plan.values_per_token = run::widest_activation(request.config);
    const std::vector<run::StageLayout> layouts = run::partition(request.config);
    const StageMask training = run::training_stages(request.config, layouts);
    for (const run::StageLayout& layout : layouts) {
        RunPlan::Stage& stage = plan.stages.emplace_back();
        stage.passes_gradients = training.has_below(layout.stage);
        stage.first_layer = layout.first_layer;
        stage.layers = layout.layers;
        stage.parameters = layout.elements();
        stage.frozen_parameters = layout.frozen_elements();
        stage.memory_bytes = run::MemoryPlan(0, request.config, layout).needed_bytes(1);
        stage.part = layout.part;
        for (std::uint32_t i = 0; i < layout.layers; ++i) {
            stage.units += units[layout.first_layer + i];
        }
        stage.units *= layout.part.parts > 1 ? run::work_share(request.config, layout) : 1;
        if (request.layer_ms.empty()) {
            const int maps = (layout.has_embedding ? 0 : 1) + (layout.has_head ? 0 : 1);
            stage.units += maps * run::boundary_map_work(request.config);
        }
        if (!stage.passes_gradients && !training.has(layout.stage)) {
            stage.units *= kForwardShare;
        }
    }
    return plan;
}

/// Adds up the speeds of the request, so that a peer without a stage counts as idle.
double speed_of_all(const PlanRequest& request) {
    double sum = 0;
    for (const run::PeerPower& peer : request.peers) {
        sum += peer.units_per_s;
    }
    return sum;
}

/// Returns the number of microbatches that are under way at once.
std::uint32_t window_of(const PlanRequest& request, const RunPlan& plan) {
    std::size_t members = 0;
    for (const RunPlan::Stage& stage : plan.stages) {
        members += stage.peers.size();
    }
    const std::uint32_t asked = request.config.in_flight;
    const auto usual = static_cast<std::uint32_t>(std::max<std::size_t>(2, 2 * members));
    return std::min(asked > 0 ? asked : usual, plan.microbatches);
}

std::string stage_limit(const RunPlan& plan, std::size_t weakest) {
    const RunPlan::Stage& stage = plan.stages[weakest];
    std::string text = "stage " + std::to_string(weakest) + " has the least capacity";
    if (stage.peers.size() == 1) {
        return text + ", with one peer: more peers help, or fewer layers there";
    }
    return text + ": more peers help there first";
}

double slowest_line(const PlanRequest& request, const RunPlan::Stage& stage) {
    double slowest = 0;
    for (const std::uint32_t peer : stage.peers) {
        const auto& lines = request.line_bytes_per_s;
        const double rate = lines.empty() ? 0 : lines[peer % lines.size()];
        slowest = slowest == 0 || rate == 0 ? std::max(slowest, rate) : std::min(slowest, rate);
    }
    return slowest;
}

/// Returns bytes per second; 0: no bound.
double line_between(
    const PlanRequest& request, const RunPlan::Stage& from, const RunPlan::Stage& to
) {
    const double up = slowest_line(request, from);
    const double down = slowest_line(request, to);
    return up == 0 || down == 0 ? std::max(up, down) : std::min(up, down);
}

run::CodecChoiceInput lines_of(const PlanRequest& request, const RunPlan& plan) {
    run::CodecChoiceInput input;
    input.elements = run::elements_between(request.config);
    input.microbatches = plan.microbatches;
    input.in_flight = window_of(request, plan);
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
        const RunPlan::Stage& stage = plan.stages[s];
        const bool last = s + 1 == plan.stages.size();
        const auto peers = static_cast<double>(stage.peers.size());
        input.stages.push_back(
            {static_cast<std::uint32_t>(stage.peers.size()),
             peers / stage.per_s,
             last ? 0 : line_between(request, stage, plan.stages[s + 1]),
             s == 0 ? 0 : line_between(request, stage, plan.stages[s - 1])}
        );
    }
    return input;
}

/// Fills in the codecs and the times of passing tensors on; returns the time of a step.
run::StepTime plan_step(const PlanRequest& request, RunPlan& plan) {
    const run::CodecChoiceInput input = lines_of(request, plan);
    plan.codecs = run::first_codecs(request.config);
    if (run::chooses_codecs(request.config)) {
        plan.codecs = run::choose_codecs(input, plan.codecs);
    }
    std::vector<run::StageTime> times = run::stage_times(input, plan.codecs);
    for (std::size_t s = 0; s < times.size(); ++s) {
        if (!plan.stages[s].passes_gradients) {
            times[s].to_previous_s = 0;
        }
    }
    for (std::size_t s = 0; s + 1 < times.size(); ++s) {
        plan.passing_s.push_back(times[s].to_next_s);
        plan.passing_s.push_back(times[s + 1].to_previous_s);
    }
    return run::step_time(times, input.microbatches, input.in_flight, request.latency_s);
}

/// Fills in what the replicas of a stage send each other per step, and how long that takes on the
/// slowest of their lines. The stages do it at the same time.
void plan_sync(const PlanRequest& request, RunPlan& plan) {
    const run::RunConfig& config = request.config;
    const bool sparse = config.mode == run::SyncMode::Sparse;
    const double part = sparse ? 1.0 / run::steps_between_syncs(config) : 1;
    // Sums and values; or REDUCE, a share and REDUCED.
    const double hops = sparse ? 3 : 2;
    for (const RunPlan::Stage& stage : plan.stages) {
        const auto replicas = static_cast<std::uint32_t>(stage.peers.size());
        const double line = slowest_line(request, stage);
        const double bytes = run::sync_bytes(config.mode, stage.parameters, replicas, line);
        const double on_line_s = line > 0 ? bytes / line : 0;
        const double takes_s = replicas > 1 ? on_line_s + hops * request.latency_s : 0;
        plan.sync_s = std::max(plan.sync_s, part * takes_s);
        plan.sync_bytes = std::max(plan.sync_bytes, part * bytes);
    }
}

std::string limit_of(const PlanRequest& request, const RunPlan& plan, const run::StepTime& step) {
    if (plan.sync_s > step.step_s) {
        const bool sparse = request.config.mode == run::SyncMode::Sparse;
        return "the replicas of a stage exchange data for " +
               std::to_string(std::lround(100 * plan.sync_s / (plan.sync_s + step.step_s))) +
               " % of a step: faster lines, or " +
               (sparse ? "a larger sync_every" : "--mode sparse");
    }
    if (step.busiest == run::Busiest::Window) {
        return "too few microbatches are under way: raise in_flight";
    }
    if (step.bubble_s > kLargeBubble * step.step_s) {
        return "filling and draining the pipeline takes " +
               std::to_string(std::lround(100 * step.bubble_s / step.step_s)) +
               " % of a step: raise microbatches";
    }
    if (step.busiest == run::Busiest::Device) {
        return stage_limit(plan, step.stage);
    }
    return "the lines of stage " + std::to_string(step.stage) +
           (run::chooses_codecs(request.config) ? ": faster ones, or more peers"
                                                : ": --codec auto, faster ones, or more peers");
}

/// Fills in the figures that follow from the peers of each stage.
void reckon(const PlanRequest& request, RunPlan& plan) {
    const run::StepTime step = plan_step(request, plan);
    plan_sync(request, plan);
    plan.step_s = step.step_s + plan.sync_s;
    plan.limit = limit_of(request, plan, step);
    const run::RunConfig& config = request.config;
    const double microbatches = plan.microbatches;
    plan.tokens_per_s = microbatches * config.batch * config.model.context / plan.step_s;
    double units = 0;
    for (RunPlan::Stage& stage : plan.stages) {
        units += stage.units;
        stage.busy = microbatches / stage.per_s / plan.step_s;
    }
    plan.utilisation = microbatches * units / (speed_of_all(request) * plan.step_s);
}

}  // namespace

Result<RunPlan> make_plan(const PlanRequest& request) {
    const run::RunConfig& config = request.config;
    if (!request.layer_ms.empty() && request.layer_ms.size() != config.model.layers) {
        return rejected(
            ErrorCode::Usage,
            "--layer-ms names " + std::to_string(request.layer_ms.size()) +
                " layers, and the model has " + std::to_string(config.model.layers)
        );
    }
    if (request.peers.size() < config.stages) {
        return rejected(
            ErrorCode::Usage,
            std::to_string(request.peers.size()) + " peers cannot serve " +
                std::to_string(config.stages) + " stages: name more, or use fewer stages"
        );
    }
    RunPlan plan = stages_of(request);
    const run::PeerAssignment assigned = run::assign_peers(request.peers, needs_of(plan));
    for (std::uint32_t peer = 0; peer < request.peers.size(); ++peer) {
        const std::optional<StageIndex> stage = assigned.stage_of[peer];
        (stage ? plan.stages[stage->value].peers : plan.idle_peers).push_back(peer);
    }
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
        plan.stages[s].per_s = assigned.per_s[s];
        if (plan.stages[s].peers.empty()) {
            return rejected(
                ErrorCode::Mismatch,
                "no peer lends the " + std::to_string((plan.stages[s].memory_bytes >> 20) + 1) +
                    " MiB that stage " + std::to_string(s) +
                    " needs beside its activations: raise --memory, or " +
                    run::smaller_stages(request.config)
            );
        }
    }
    reckon(request, plan);
    return plan;
}

std::vector<std::uint32_t> better_split(const PlanRequest& request, const RunPlan& plan) {
    const run::RunConfig& config = request.config;
    if (config.expert_stages > 1) {
        return {};  // its layers are not dealt
    }
    const std::vector<double> units = units_of(request);
    PlanRequest other = request;
    other.config.stages = config.model.layers;  // so that each layer is a stage
    other.config.layers_per_stage.assign(config.model.layers, 1);
    std::vector<run::LayerCost> layers;
    for (const RunPlan::Stage& layer : stages_of(other).stages) {
        layers.push_back({units[layers.size()], layer.memory_bytes});
    }
    std::vector<std::uint64_t> memory_bytes;
    for (const run::PeerPower& peer : request.peers) {
        if (peer.memory_bytes > 0) {
            const std::uint64_t least = memory_bytes.empty() ? peer.memory_bytes : memory_bytes[0];
            memory_bytes.assign(config.stages, std::min(least, peer.memory_bytes));
        }
    }
    const auto split = run::split_layers(layers, config.stages, memory_bytes);
    if (!split) {
        return {};
    }
    other.config.stages = config.stages;
    other.config.layers_per_stage = *split;
    const Result<RunPlan> better = make_plan(other);
    return better && better->step_s < plan.step_s * (1 - kBetterBy) ? *split
                                                                    : std::vector<std::uint32_t>{};
}

}  // namespace swarm::cli

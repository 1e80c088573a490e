// A plan of a run: layers, time, memory and peers of each stage, the time of a step, and its limit.
// The step takes run::step_time with the peers of a stage at their mean speed, because shares
// follow speed. That is the best case: where peers share a stage, a simulated step takes up to a
// quarter longer. The plan leaves out the memory of activations. A line passes tensors at the rate
// of the slower of its two ends, both ways at once.
// Units: WorkUnit; a speed in GFLOP/s, or a multiple of the measured machine. Threading: pure.
// Errors: Usage, Mismatch (Reject), one line. Cost: O(stages x layers^2 + peers^2).
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/leg_codecs.hpp"
#include "swarm/run/partition.hpp"
#include "swarm/run/peer_assignment.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::cli {

/// The unit of a stage's work: GFLOP, or, with measured layers, milliseconds of that machine.
enum class WorkUnit : std::uint8_t { Gflop, Milliseconds };

struct PlanRequest {
    run::RunConfig config;
    std::vector<run::PeerPower> peers;
    /// Measured, forward and backward, with all repeats; empty: by multiplications.
    std::vector<double> layer_ms;
    double latency_s = 0;          // one way
    /// Each way, by peer, repeated from the start when too short; 0: no bound.
    std::vector<double> line_bytes_per_s = {};
};

struct RunPlan {
    struct Stage {
        std::uint32_t first_layer = 0;
        std::uint32_t layers = 0;
        run::LayerPart part = {};             // {0, 1} where the stage has whole layers
        std::uint64_t parameters = 0;         // that are trained
        std::uint64_t frozen_parameters = 0;  // only their weights are kept
        std::uint64_t memory_bytes = 0;    // need of each peer, without activations
        double units = 0;                  // work of a microbatch
        bool passes_gradients = false;     // to the stage below
        std::vector<std::uint32_t> peers;  // numbers from 0 on, in the order of the request
        double per_s = 0;                  // microbatches, by all peers of the stage
        double busy = 0;                   // share of the step in which its peers compute
    };

    std::vector<Stage> stages;
    std::vector<std::uint32_t> idle_peers;  // no stage fits their memory
    run::LegCodecs codecs;                  // chosen ones, where the run file says auto
    std::vector<double> passing_s;  // time of a tensor over each boundary, in the order of codecs
    std::uint32_t microbatches = 0;
    std::uint32_t repeat = 1;  // times in a row that each layer is computed
    std::vector<std::uint32_t> path_layers;  // layers that some microbatches skip or take twice
    double path_passes = 1;                  // times that a microbatch computes them, on average
    std::uint32_t values_per_token = 0;  // that cross a boundary
    std::uint32_t width = 0;             // values of a token between layers
    double step_s = 0;
    double sync_s = 0;      // the part of step_s in which replicas become one again, on average
    double sync_bytes = 0;  // sent by each replica for that per step, on average; the largest
    double tokens_per_s = 0;
    double utilisation = 0;  // share of the power of all peers that is used
    std::string limit;       // one line
};

/// Plans with the split that the run file leads to.
Result<RunPlan> make_plan(const PlanRequest& request);

/// Returns the split with the shortest step, within the memory of the peer that lends least. Empty:
/// the split of the run is as good.
std::vector<std::uint32_t> better_split(const PlanRequest& request, const RunPlan& plan);

std::string to_text(const RunPlan& plan, WorkUnit unit);
std::string to_json(const RunPlan& plan, const std::vector<std::uint32_t>& better);

}  // namespace swarm::cli

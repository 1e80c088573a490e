// What a run will be like, before it begins: layers, time and memory of each stage, which peers it
// would get, how long a step takes, and what limits it.
// Model: run::step_time, with the stage's peers at their mean speed, as shares follow speed. At
// best: where peers share a stage, a simulated step takes up to a quarter longer. Activations'
// memory is not in it.
// A line passes tensors at the rate of the slower of its two ends, both ways at once.
// Units: work in GFLOP and speed in GFLOP/s; with measured layers milliseconds of that machine, and
// speed as a multiple of it. Threading: pure functions.
// Errors: Usage, Mismatch (Reject), one line. Cost: O(stages x layers^2 + peers^2).
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/leg_codecs.hpp"
#include "swarm/run/peer_assignment.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::cli {

struct PlanRequest {
    run::RunConfig config;
    std::vector<run::PeerPower> peers;
    std::vector<double> layer_ms;  // measured, forward and backward; empty: by multiplications
    double latency_s = 0;          // one way
    std::vector<double> line_bytes_per_s =
        {};  // each way, by peer, from the start again; 0: no bound
};

struct RunPlan {
    struct Stage {
        std::uint32_t first_layer = 0;
        std::uint32_t layers = 0;
        std::uint64_t parameters = 0;
        std::uint64_t memory_bytes = 0;    // of each peer, beside activations
        double units = 0;                  // of a microbatch
        std::vector<std::uint32_t> peers;  // as numbered in the request, from 0
        double per_s = 0;                  // microbatches, by all its peers
        double busy = 0;                   // share of the step
    };

    std::vector<Stage> stages;
    std::vector<std::uint32_t> idle_peers;  // no stage fits their memory
    run::LegCodecs codecs;                  // chosen, where the run file says so
    std::vector<double> passing_s;          // of a tensor over each boundary, as the codecs
    std::uint32_t microbatches = 0;
    double step_s = 0;
    double tokens_per_s = 0;
    double utilisation = 0;  // of all peers
    std::string limit;       // one line
};

/// With the split that the run file leads to.
Result<RunPlan> make_plan(const PlanRequest& request);

/// The split that is best by time, within the memory of the peer that lends least; nothing: that
/// of the run is as good.
std::vector<std::uint32_t> better_split(const PlanRequest& request, const RunPlan& plan);

/// `measured`: units are milliseconds.
std::string to_text(const RunPlan& plan, bool measured);
std::string to_json(const RunPlan& plan, const std::vector<std::uint32_t>& better);

}  // namespace swarm::cli

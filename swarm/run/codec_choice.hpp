// `codec = "auto"`: which codec each boundary and way has next, from what the peers have measured.
// The idea: predict the time of a step; take the fastest codec everywhere; then give every leg the
// least lossy one with which the step is not slower than that by more than
// compression::kSlowerAtMost.
// Invariant: a function of its input. A leg whose line nobody has measured yet keeps its codec, and
// all do while a stage's device is not measured. A change that would win too little is not made.
// Cost: a few thousand operations per boundary. Threading: none.
// Source: step_time() is the cost model. Reductions are not in it: no codec here makes them faster.
#pragma once

#include "swarm/run/leg_codecs.hpp"
#include "swarm/run/step_time.hpp"

#include <cstdint>
#include <vector>

namespace swarm::run {

/// The members of one stage together; 0 where nobody has measured.
struct StageMeasured {
    std::uint32_t peers = 1;
    double microbatch_s = 0;             // of one of them, forward and backward; the mean
    double to_next_bytes_per_s = 0;      // of the slowest line
    double to_previous_bytes_per_s = 0;  // likewise
};

struct CodecChoiceInput {
    std::uint64_t elements = 0;  // of an activation
    std::uint32_t microbatches = 1;
    std::uint32_t in_flight = 1;
    std::vector<StageMeasured> stages;
};

/// What a tensor takes to the next peer, in seconds; 0 where nobody measured the line. `leg` as in
/// LegCodecs.
double passing_s(const CodecChoiceInput& input, std::size_t leg, CodecId codec);

/// What step_time() asks for; lines that nobody measured take no time.
std::vector<StageTime> stage_times(const CodecChoiceInput& input, const LegCodecs& codecs);

/// Of computing and passing on, in seconds; lines that nobody measured take no time.
double predicted_step_s(const CodecChoiceInput& input, const LegCodecs& codecs);

LegCodecs choose_codecs(const CodecChoiceInput& input, const LegCodecs& current);

}  // namespace swarm::run

// Chooses the codec of each boundary and way from the peers' measurements, for `codec = "auto"`.
// Method: predict the time of a step; take the fastest codec everywhere; then give every leg the
// least lossy codec with which the step is slower by compression::kSlowerAtMost at most.
// Invariants: the choice is a function of its input. A leg keeps its codec until its line has been
// measured, and all legs keep theirs until each stage's device has been measured. A change that
// would win too little is not made.
// Cost: a few thousand operations per boundary. Threading: pure.
// Source: step_time() is the cost model. It leaves out reductions, which no codec here makes
// faster.
#pragma once

#include "swarm/run/leg_codecs.hpp"
#include "swarm/run/step_time.hpp"

#include <cstdint>
#include <vector>

namespace swarm::run {

/// The members of one stage together; 0 stands for a value that nobody has measured.
struct StageMeasured {
    std::uint32_t peers = 1;
    double microbatch_s = 0;             // forward and backward at one member; the mean
    double to_next_bytes_per_s = 0;      // the slowest line
    double to_previous_bytes_per_s = 0;  // the slowest line
};

struct CodecChoiceInput {
    std::vector<std::uint64_t> elements;  // one number per boundary, of the tensor that crosses it
    std::uint32_t microbatches = 1;
    std::uint32_t in_flight = 1;
    std::vector<StageMeasured> stages;
};

/// Seconds that a tensor takes to the next peer; 0 where nobody has measured the line. `leg` is an
/// index of LegCodecs.
double passing_s(const CodecChoiceInput& input, std::size_t leg, CodecId codec);

/// The input of step_time(); a line that nobody has measured takes no time.
std::vector<StageTime> stage_times(const CodecChoiceInput& input, const LegCodecs& codecs);

/// Seconds of a step; a line that nobody has measured takes no time.
double predicted_step_s(const CodecChoiceInput& input, const LegCodecs& codecs);

/// `current` where no change is worth it.
LegCodecs choose_codecs(const CodecChoiceInput& input, const LegCodecs& current);

}  // namespace swarm::run

// Turns the training runs of the quality bench into its figures, and these into text, JSON and SVG.
// A row is one way of training, named for its codecs or its mode of synchronisation; the first row
// is "none", and all others are compared with it, seed by seed.
// Losses: in training the mean of the last kTrainingSteps steps; held out the loss of the weights
// after the last step, on text that no run trains on, with nothing coded between the stages.
// Extra steps: until the held-out loss, smoothed over kSmoothedPoints, equals that of "none" at the
// last step; the run goes on for them, at the last learning rate.
// Equal time: the time at which the quickest codec, or mode, has made its steps on the line
// (quality_math.hpp); the losses of the others at that time are read off their curves.
// Threading: pure functions. Units: seconds, bytes, nats per token, per cent of the loss of "none".
#pragma once

#include "tests/bench/quality/quality_math.hpp"

#include <boost/json/object.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace swarm::bench {

inline constexpr std::size_t kTrainingSteps = 20;
inline constexpr std::size_t kSmoothedPoints = 3;

/// Most extra steps: a run that needs more is given up.
constexpr std::uint64_t extra_steps_max(std::uint64_t steps) {
    return steps / 2;
}

/// Bytes of one microbatch, between two stages.
struct LegBytes {
    std::uint64_t forward = 0;
    std::uint64_t backward = 0;
};

struct SeedRun {
    std::uint64_t seed = 0;
    LossCurve training;    // by step, from 0: its loss before the update
    LossCurve held_out;    // by steps made, 0 and the last one included
    double compute_s = 0;  // CPU time of a step, all stages; the median, so without exchanges
};

/// The way in which the replicas of a stage become equal again.
struct Synchronisation {
    std::uint32_t replicas = 1;
    std::optional<std::uint32_t> sync_every;  // steps; mode sparse only
    double bytes_per_step = 0;  // bytes that a replica of the largest stage sends for it
};

/// Mode exact gives the bits of "none" for any number of replicas, so nothing is trained for it:
/// its losses are those of "none".
inline constexpr const char* kExactRow = "exact";
inline constexpr const char* kSparseRow = "sparse";

struct QualityRow {
    std::string name;
    LegBytes bytes;
    std::vector<SeedRun> seeds;  // 1, 2, ..: the seeds that are done; none with kExactRow
    Synchronisation sync{};
};

struct QualityRuns {
    std::uint64_t steps = 0;
    std::uint32_t stages = 1;
    std::uint32_t microbatches = 1;
    double line_bytes_per_s = 1;
    std::uint64_t held_out_tokens = 0;
    std::string machine;            // compute class
    std::vector<QualityRow> rows;   // one peer per stage; the first is "none"
    std::vector<QualityRow> modes;  // nothing, or kExactRow and kSparseRow
    std::string stopped;            // reason why the bench ended early; empty: it did not
};

/// One loss beside that of "none".
struct Compared {
    double loss = 0;
    double percent = 0;
};

struct SeedFigures {
    std::uint64_t seed = 0;
    Compared training;
    Compared held_out;
    std::optional<double> extra_steps;  // nothing: more than extra_steps_max()
};

struct RowFigures {
    std::string name;
    LegBytes bytes;
    double compute_s = 0;
    double step_s = 0;  // on the line
    Synchronisation sync;
    // Means over the seeds; the percentage is the mean of the seeds' percentages.
    Compared training;
    Compared held_out;
    std::optional<double> extra_steps;  // nothing if one seed has none
    double equal_time_loss = 0;         // held out
    std::vector<SeedFigures> seeds;
};

/// Rows that are compared at equal time: the rows with a seed that is done.
struct ComparedRows {
    double equal_time_s = 0;
    std::vector<RowFigures> rows;
};

struct QualityFigures {
    ComparedRows codecs;
    ComparedRows modes;
};

/// Extra steps of a run that has this held-out curve so far. Below zero: the run reached the loss
/// earlier.
std::optional<double> extra_steps(
    const LossCurve& held_out, const LossCurve& of_none, std::uint64_t steps
);

QualityFigures figures_of(const QualityRuns& runs);

/// Returns a line per codec, then one per mode.
std::string to_text(const QualityRuns& runs, const QualityFigures& figures);

/// {name: "quality", steps, stages, microbatches, line_bits_per_s, held_out_tokens, machine,
///  extra_steps_max, equal_time_s, modes_equal_time_s, stopped: null or why,
///  rows: [{name, forward_bytes, backward_bytes, compute_s, step_s, training_loss,
///    training_percent, held_out_loss, held_out_percent, extra_steps: null if above the most,
///    equal_time_loss,
///    curve: [[steps, held-out loss]], means,
///    seeds: [{seed, training_loss, training_percent, held_out_loss, held_out_percent,
///      extra_steps}]}],
///  modes: [{name, replicas, sync_every: null if exact, sync_bytes_per_step, compute_s and all
///    that follows it above}]}
boost::json::object to_json(const QualityRuns& runs, const QualityFigures& figures);

/// Draws the held-out loss of each codec against time on the line, from a tenth of the steps on;
/// empty without a run.
std::string to_svg(const QualityRuns& runs, const QualityFigures& figures);

}  // namespace swarm::bench

// The figures of one step of a run, as a line of metrics.jsonl in the run's folder has them. An
// evaluation after the step has a line of its own.
// A step that is repeated after a rollback has a line each time; the last one counts.
// Threading: pure. Errors: Malformed (Reject), with the number of the line.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/common/report_lines.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::cli {

struct StepMetrics {
    std::uint64_t step = 0;      // steps that are done with this one
    double unix_time_s = 0;      // when it was committed
    double seconds = 0;          // time that it took
    std::optional<double> loss;  // mean per token; none: the step was skipped, or it is no number
    double tokens_per_s = 0;
    double learning_rate = 0;
    double gradient_norm = 0;
    std::uint32_t microbatches = 0;
    std::uint32_t replayed = 0;
    std::uint32_t fenced = 0;
    std::vector<std::uint32_t> peers_per_stage;  // empty: a run in one process
    std::optional<std::uint64_t> wire_bytes;
    bool looped = false;  // the loss is that of the looped positions
    std::string skipped;  // the reason; empty: the step changed the weights
    std::optional<double> held_out;  // mean loss of the evaluation after the step; none: no such
};

/// Returns one line, with its line feed.
std::string to_line(const StepMetrics& metrics);

/// Returns the line of an evaluation, which follows that of its step.
std::string to_line(const HeldOutFound& found, double unix_time_s);

/// Reads metrics.jsonl: one entry per step, in the order of steps. A last line without its line
/// feed is left out, because a process was killed while it wrote it.
Result<std::vector<StepMetrics>> parse_metrics(std::string_view text);

}  // namespace swarm::cli

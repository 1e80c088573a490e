// The cost of the pipeline against no pipeline: two stages as two peers on this machine against two
// independent `swarm train --single` of the same model, all processes of the program itself.
// Model: 8 layers, width 512, T = 256, V = 2000, B = 4, 32 microbatches a step. The bubble of two
// stages and 32 microbatches allows a ratio of 0.97.
// Figures: ratio of tokens per second, and of tokens per CPU-second of all processes.
// Cost: minutes per round; the JSON of the program is the source of the rates.
// Errors: NotFound when the program is not beside swarm-bench, ConnectionLost when a run failed.
#pragma once

#include "swarm/base/result.hpp"

#include <filesystem>

namespace swarm::bench {

struct PipelineFigures {
    double ratio = 0;
    double cpu_ratio = 0;
};

/// One round: the pipeline, then the two single processes.
Result<PipelineFigures> measure_pipeline(const std::filesystem::path& program);

}  // namespace swarm::bench

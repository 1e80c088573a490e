// `swarm eval`: how well a model predicts texts, and how often it prefers the right ending of the
// items of small tasks. This process computes.
// Threading: the main thread, whose pool helps. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/cli/common/verb.hpp"
#include "swarm/cli/compute/threads.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

struct EvalOptions {
    std::string model;                      // a path or a name
    std::string adapter;                    // a folder of peft; empty: none
    std::vector<std::string> texts;         // files, or folders of files
    std::vector<std::string> tasks;         // names; "all" stands for each of them
    /// Numbers of layers behind which the head answers, too; empty: those of the run's training.
    std::vector<std::uint32_t> exits_at{};
    std::vector<double> exits{};            // probabilities at which a token's path ends there
    std::optional<double> exit_cost;  // percent of the loss that exits may add; none: not asked
    std::optional<std::uint32_t> context;  // tokens of a window; none: 1024, or the model's context
    std::optional<std::uint32_t> stride;   // none: half the context
    std::string weights = "as-is";
    std::uint32_t stages = 1;         // stages of the model that a path names
    std::vector<std::uint32_t> path;  // stages in the order of a token; empty: each once
    ThreadsFlag threads;  // none: auto
    std::string json_file;
};

void add_eval(CLI::App& program, const OnChosen& on_chosen);

int evaluate(const EvalOptions& options);

}  // namespace swarm::cli

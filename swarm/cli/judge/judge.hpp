// `swarm stack judge`: trains and measures each recipe that makes one model of several trainings,
// with equal training tokens, beside one dense model, and says which of them pays.
// Threading: the main thread. Errors: an exit code, and one line on stderr. What is trained stays
// in the folder, and the next call of the same judge goes on where this one has ended.
#pragma once

#include "swarm/base/units.hpp"
#include "swarm/cli/common/verb.hpp"
#include "swarm/cli/compute/threads.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace swarm::cli {

struct JudgeOptions {
    std::vector<std::string> sources;  // one text per domain
    std::string folder;
    std::vector<std::string> recipes{};  // names of recipes.hpp; empty: all
    std::string init = "";               // the base begins with this model; empty: with none
    std::uint64_t base_steps = 60;       // steps of the model that the members begin with
    std::uint64_t steps = 60;            // steps of each member
    std::uint32_t seeds = 3;
    std::uint32_t first_seed = 1;
    std::optional<Duration> budget{};                             // no training begins after it
    std::vector<std::pair<std::string, std::string>> settings{};  // keys of the run files
    ThreadsFlag threads;                                          // that train; none: 1
    std::string json_file;
};

/// Adds the verb below `swarm stack`, which is there.
void add_judge(CLI::App& program, const OnChosen& on_chosen);

int judge_recipes(const JudgeOptions& options);

}  // namespace swarm::cli

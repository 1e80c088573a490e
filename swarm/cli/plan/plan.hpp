// `swarm plan`: foretells time, memory and limits of a run before it begins.
// Threading: the main thread. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/base/units.hpp"
#include "swarm/cli/common/run_flags.hpp"
#include "swarm/cli/common/verb.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

struct PlanOptions {
    RunFlags run;
    std::string run_file;
    std::optional<std::uint32_t> peers;  // default: as many as speeds, at least one per stage
    std::vector<double> speeds;          // by peer; repeated from the start when too short
    std::vector<double> layer_ms;
    std::uint64_t memory_bytes = 0;  // memory of each peer; 0: no bound
    Duration latency{};
    std::vector<std::uint64_t> line_bytes_per_s;  // each way, by peer as speeds; empty: no bound
    std::string json_file;
};

void add_plan(CLI::App& program, const OnChosen& on_chosen);

int plan(const PlanOptions& options);

}  // namespace swarm::cli

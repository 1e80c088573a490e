// Flags that override what the run file says; `train`, `local` and `plan` have them.
// Precedence: --set > flag > run file > default. So a flag that was not given is nullopt, and
// never its default.
// Errors: those of CLI11. Threading: one thread, while the command line is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace swarm::cli {

struct RunFlags {
    std::optional<std::string> model;
    std::optional<std::uint32_t> stages;
    std::optional<std::uint64_t> steps;
    std::optional<std::uint64_t> seed;
    std::optional<std::uint32_t> microbatches;
    std::optional<std::uint32_t> in_flight;
    std::optional<std::string> policy;
    std::optional<std::string> codec;
    std::optional<std::string> split;  // fixed or measured
    std::optional<std::string> mode;   // exact or sparse
    std::optional<std::uint32_t> sync_every;
    std::optional<std::uint32_t> replicas;
    std::optional<std::string> init;  // model whose weights the run begins with
    std::optional<std::string> corpus;
    std::optional<std::string> tokenizer;
    std::optional<std::uint32_t> checkpoint_every;
    std::optional<std::uint32_t> min_peers;
    std::vector<std::pair<std::string, std::string>> settings;  // any keys (--set); after the rest
};

/// Adds the run file, a word without a flag, and the flags that every verb with a run has.
void add_run_flags(CLI::App& app, std::string& run_file, RunFlags& run);
/// Adds --mode and --sync-every, for verbs that train.
void add_mode_flags(CLI::App& app, RunFlags& run);

}  // namespace swarm::cli

// `swarm local`: a whole swarm on this machine, in real processes on loopback, with faults. It
// trains a run, or answers with a model or a stack.
// Threading: the main thread. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/base/units.hpp"
#include "swarm/cli/common/run_flags.hpp"
#include "swarm/cli/common/verb.hpp"
#include "swarm/cli/compute/threads.hpp"
#include "swarm/protocol/limits.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

struct LocalOptions {
    RunFlags run;
    std::string run_file;
    std::uint32_t peers = 6;
    std::vector<std::uint32_t> service_ms;  // by peer; repeated from the start when too short
    std::optional<std::string> churn;       // "default", or a file; the next two override it
    std::optional<Duration> kill_every;
    std::optional<Duration> freeze_every;
    std::vector<std::uint64_t>
        line_bytes_per_s;               // each way, by peer as service_ms; empty: no bound
    Duration line_delay{};              // one way, between two processes
    std::optional<Duration> cut_every;  // mean time between two cut connections
    std::uint64_t memory_bytes = 0;     // bound of each peer; 0: no bound
    bool verify = false;
    bool demo = false;
    std::string device = "auto";
    ThreadsFlag threads;  // each peer has so many; auto shares the cores out
    std::optional<std::string> prompt;
    std::uint32_t tokens = 200;  // at most
    std::string directory;       // empty: a temporary one
    std::string json_file;
    std::optional<Duration> log_every;  // same as in TrainOptions
    std::string http;                   // same
    // For a model or a stack:
    std::string stack;
    bool api = false;  // clients of the API ask, instead of one prompt
    std::uint16_t api_port = 8080;
    std::string weights = "as-is";
    std::string replay = "exact";
    bool raw = false;
    bool ignore_eos = false;
    double temperature = 0;
    double top_p = 0;                   // same as in GenerateOptions
    std::uint32_t top_k = 0;            // same
    std::vector<std::string> stops;     // same
    std::optional<std::string> system;  // same
    std::vector<std::uint32_t> path;    // same as in GenerateOptions
    double exit_threshold = 2;          // same as in GenerateOptions
    std::uint32_t guesses_max = protocol::kGuessesMax;
    std::vector<std::uint32_t> kill_at;  // tokens at which a peer that serves is killed
    std::vector<std::uint32_t> freeze_at;
};

void add_local(CLI::App& program, const OnChosen& on_chosen);

int local(const LocalOptions& options);

}  // namespace swarm::cli

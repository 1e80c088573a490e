// The command line as data. CLI11 is seen by options.cpp, sim/sim_flags.cpp and
// model/model_flags.cpp alone.
// Precedence: flag > TOML > default; so a flag that was not given is nullopt, never its default.
// Errors: an Exit with code 2 and one line; --help and --version are an Exit with code 0.
#pragma once

#include "swarm/base/units.hpp"
#include "swarm/protocol/session_messages.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace swarm::cli {

/// Flags that override what the run file says.
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
    std::optional<std::string> corpus;
    std::optional<std::string> tokenizer;
    std::optional<std::uint32_t> checkpoint_every;
    std::optional<std::uint32_t> min_peers;
};

struct TrainOptions {
    std::string run_file;  // empty: defaults
    RunFlags run;
    std::string directory;  // empty: runs/<name>
    bool resume = false;
    bool single = false;
    bool beside_exact = false;     // --single in mode sparse
    std::uint64_t lose_every = 0;  // steps between two replicas lost, of --single; 0: none
    bool hold = false;             // keep the peers after the last step, until SIGINT
    Duration stage_lost_after = std::chrono::seconds(120);
    std::string listen = "0.0.0.0:7117";
    std::string swarm_key_file;
    std::string device = "auto";  // --single
    std::string codecs_from;      // --single: the directory of a run that chose codecs or split
    std::string json_file;
    int reports_fd = -1;  // for `swarm local`
};

struct ServeOptions {
    std::string join;
    Duration wait = std::chrono::seconds(60);
    std::string listen = "0.0.0.0:0";
    std::string advertise;  // what others dial; empty: found out
    std::string dial_from;
    std::string device = "auto";
    std::string key_file;  // empty: a new identity
    std::string swarm_key_file;
    std::uint32_t seats = 1;
    std::uint32_t service_ms = 0;    // 0: as fast as it is
    std::uint64_t memory_bytes = 0;  // 0: no bound
    std::string cache_folder;        // empty: nothing is kept
    // Of a model of others, instead of a run:
    std::string model;         // a path or a name
    std::uint32_t stages = 1;  // it is offered in so many parts
    std::string layers;        // "A-B": these, whatever is needed most; empty: the directory says
    std::string weights = "fp32";
    std::uint64_t kv_bytes = 1ULL << 30;
    bool exits = false;       // with the model's head, whatever the layers
    std::string bridge_file;  // that leads to the model from another one
};

struct DirectoryOptions {
    std::string listen = "0.0.0.0:7118";
    std::string key_file;  // empty: a new identity
    std::string swarm_key_file;
};

/// With the peers of a run (join), with those that serve a model (both), or with a model in this
/// process alone.
struct GenerateOptions {
    std::string join;
    std::string model;  // a path or a name
    std::string stack;  // STACK.toml: several models as one
    std::string prompt;
    std::uint32_t tokens = 200;
    double temperature = 0;
    std::uint64_t seed = 1;
    Duration wait = std::chrono::seconds(60);
    std::string swarm_key_file;
    std::string tokenizer_file;  // of the run at `join`; empty: its tokens are bytes
    // Of a model:
    bool raw = false;
    bool ignore_eos = false;
    std::string weights = "fp32";  // in this process alone
    std::string json_file;
    std::uint32_t stages = 1;                // in this process alone
    std::vector<std::uint32_t> path;         // stages in their order; empty: each once
    double exit_threshold = 2;               // of a token's probability; above 1: never exit early
    std::vector<protocol::RowCodec> codecs;  // of the rows between stages, by link; empty: none
    // Of its peers:
    std::string replay = "exact";                    // or fast
    Duration late_after = std::chrono::seconds(10);  // of a stack's member
};

struct LocalOptions {
    RunFlags run;
    std::string run_file;
    std::uint32_t peers = 6;
    std::vector<std::uint32_t> service_ms;  // by peer, from the start again when too short
    std::optional<std::string> churn;       // "default", or a file; the next two override it
    std::optional<Duration> kill_every;
    std::optional<Duration> freeze_every;
    std::vector<std::uint64_t>
        line_bytes_per_s;               // each way, by peer as service_ms; empty: no bound
    Duration line_delay{};              // one way, between any two
    std::optional<Duration> cut_every;  // a connection
    std::uint64_t memory_bytes = 0;     // of each peer; 0: no bound
    bool verify = false;
    bool demo = false;
    std::string device = "auto";
    std::optional<std::string> prompt;
    std::uint32_t tokens = 200;
    std::string directory;  // empty: a temporary one
    std::string json_file;
    // Of a model of others, or a stack:
    std::string stack;
    std::string weights = "fp32";
    std::string replay = "exact";
    bool raw = false;
    std::vector<std::uint32_t> path;  // as GenerateOptions
    double exit_threshold = 2;
    std::vector<std::uint32_t> kill_at;  // tokens at which a peer that serves is disturbed
    std::vector<std::uint32_t> freeze_at;
};

struct PlanOptions {
    RunFlags run;
    std::string run_file;
    std::optional<std::uint32_t> peers;  // default: as many as speeds, at least one per stage
    std::vector<double> speeds;          // by peer, from the start again when too short
    std::vector<double> layer_ms;
    std::uint64_t memory_bytes = 0;  // of each peer; 0: no bound
    Duration latency{};
    std::vector<std::uint64_t> line_bytes_per_s;  // as LocalOptions
    std::string json_file;
};

struct StackNewOptions {
    std::string file;
    std::vector<std::string> members;
    std::vector<double> priors;  // one per member; empty: all 1
    std::string mode = "ensemble";
};

struct StackAddOptions {
    std::string file;
    std::string member;
    double prior = 1;
};

struct StackMeasureOptions {
    std::string file;
    std::vector<std::string> texts;
    std::uint32_t tokens = 4096;  // of each text
    std::uint32_t window = 0;     // tokens that are read in one go; 0: 256, or the context
    std::string weights = "fp32";
};

struct StackTrainOptions {
    std::string file;
    std::vector<std::string> texts;
    std::uint32_t steps = 250;
    std::uint32_t batch = 8;
    std::uint32_t window = 128;  // tokens
    double learning_rate = 1e-3;
    std::uint64_t seed = 1;
    std::string device = "auto";
};

struct StackShowOptions {
    std::string file;
};

struct DoctorOptions {
    std::string json_file;
};

/// What `swarm sim` and `swarm sim compare` share.
struct SimFlags {
    std::string scenario;  // a file, or the name of one that comes with the program
    std::optional<std::uint64_t> seed;
    std::optional<std::string> mode;  // exact or fluid
    std::vector<std::pair<std::string, std::string>> settings;
    bool verify = false;
    std::string json_file;
};

struct SimOptions {
    SimFlags flags;
    bool list = false;  // then the scenario is a folder, or empty
    std::uint32_t seeds = 1;
    std::optional<std::uint64_t> replay;
    std::string html_file;
};

struct SimCompareOptions {
    SimFlags flags;
    std::vector<std::string> policies;
};

struct SimRecordOptions {
    std::string run_file;
    std::string out_file;  // empty: stdout
};

struct ModelFetchOptions {
    std::string name;
};

struct ModelShowOptions {
    std::string model;  // a path or a name
    std::uint32_t stages = 1;
    std::string json_file;
};

struct ModelExportOptions {
    std::string model;  // a path or a name
    std::string folder;
};

struct Exit {
    int code = 0;
    std::string text;
};

using Command = std::variant<
    TrainOptions,
    ServeOptions,
    DirectoryOptions,
    GenerateOptions,
    LocalOptions,
    PlanOptions,
    DoctorOptions,
    StackNewOptions,
    StackAddOptions,
    StackMeasureOptions,
    StackTrainOptions,
    StackShowOptions,
    SimOptions,
    SimCompareOptions,
    SimRecordOptions,
    ModelFetchOptions,
    ModelShowOptions,
    ModelExportOptions,
    Exit>;

Command parse_command_line(int argc, const char* const* argv);

/// "500ms", "3s", "2m"; without a unit: seconds. nullopt when it is none of them, or above a day.
std::optional<Duration> parse_duration(const std::string& text);

}  // namespace swarm::cli

// A scenario says which run the simulator makes: a fleet, a pipeline, churn, faults, and for how
// long. One TOML file serves both fidelities; sim/scenarios holds examples.
// Invariant: a Scenario that came out of parse_scenario() is within the bounds below, and with a
// seed it determines fleet, schedule and run.
// Units: seconds, bytes, bytes per second, work units (tokens x layers; a backward counts twice).
// Errors: Usage (Reject), one line: file, line, key, the mistake, the values that are allowed.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/base/units.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/memory_plan.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sim {

using swarm::Duration;

inline constexpr std::uint32_t kPeersMax = 16'384;         // swarm::protocol::kRosterMax
inline constexpr std::size_t kHappeningsMax = 20'000'000;  // in one schedule
inline constexpr Duration kDurationMax = std::chrono::hours(24 * 366);
inline constexpr Duration kLatencyDefault = std::chrono::milliseconds(20);

enum class Mode : std::uint8_t { Exact, Fluid };

/// A number drawn anew for each peer or each occasion, with our own integer arithmetic
/// (distribution.hpp). TOML: 5.0, { uniform = [1, 9] }, { exponential = 60 }, { choice = [1, 2] }.
struct Draw {
    enum class Kind : std::uint8_t { Constant, Uniform, Exponential, Choice };

    Kind kind = Kind::Constant;
    std::vector<double> values{0.0};  // constant: 1; uniform: low, high; exponential: mean
};

struct PeerGroup {
    std::string name = "peers";
    std::uint32_t count = 1;
    std::string region;  // empty: the first region
    Draw units_per_s{Draw::Kind::Constant, {100.0}};
    Draw up_bytes_per_s{};           // 0: unlimited
    Draw down_bytes_per_s{};         // 0: unlimited
    std::uint64_t memory_bytes = 0;  // a peer that cannot hold a stage never comes; 0: no bound
    Draw clock_offset_s{};           // offset of the peer's clock at the start
    Draw clock_drift_ppm{};
};

/// One-way delays between regions; symmetric unless both directions are given.
struct Regions {
    std::vector<std::string> names{"everywhere"};
    std::vector<std::vector<Duration>> latency{
        std::vector<Duration>{kLatencyDefault}};  // [from][to]
    double jitter = 0.0;                          // each frame: latency x (1 + jitter x unit)
};

struct Churn {
    Duration mtbf{};           // per peer that is up, Poisson; 0: never
    double crash_share = 1.0;  // part of the departures; the others leave in order
    Duration absence_mean{};   // exponential, from a departure to the return; 0: never returns
    double arrivals_per_hour = 0.0;  // new peers like the first group's
    bool spares_last = true;         // a departure that would empty a stage is skipped
    std::string trace;               // CSV: seconds,peer,join|leave|crash; empty: none
};

/// One line of [[plan]]: a fault at `at` that befalls `peer` (1..n) and lasts for `length`.
struct Planned {
    enum class Kind : std::uint8_t { Join, Leave, Crash, Freeze, SlowDown, Partition, CutLinks };

    Kind kind{};
    Duration at{};
    std::uint32_t peer = 0;
    std::uint32_t to = 0;  // Partition: frames that `peer` sends there are held
    Duration length{};     // Freeze, SlowDown, Partition, CutLinks
    double factor = 1.0;   // SlowDown: factor on the speed
};

/// Faults, each kind on its own, as a rate over the whole fleet; none in the calm at the end.
struct Faults {
    struct Kind {
        double per_hour = 0.0;
        Draw length_s{};
    };

    Kind freeze;
    Kind partition;  // one direction between two peers
    Kind slow_down;
    double slow_down_factor = 0.25;
    Kind cut_links;           // swizzled: one link after the other, back in another order
    double frame_loss = 0.0;  // each frame resets its link with this probability
    double job_stall = 0.0;   // each job takes job_stall_s longer with this probability
    double job_stall_s = 0.0;
};

struct Pipeline {
    std::uint32_t stages = 4;
    std::uint32_t microbatches = 8;  // per step
    std::uint32_t in_flight = 0;     // 0: twice the peers
    std::uint32_t min_peers = 0;     // exact: the first step waits for so many; 0: one per stage
    Duration arrival_gap{};          // exact: between the starts of two peers, in their order
    std::uint64_t steps = 0;         // 0: until `duration` is over
    double work_units = 1.0;         // one forward in one stage; a backward has twice as many
    std::uint64_t activation_bytes = 0;  // per leg, besides the frame; 0: only the frame
    /// Weights and optimizer of one stage, sent to a peer that moves or joins: 12 bytes for each
    /// parameter, whose sums or changes the replicas of the stage exchange.
    std::uint64_t state_bytes = 0;
    swarm::run::SyncMode mode = swarm::run::SyncMode::Exact;
    std::uint32_t sync_every = 0;  // steps between two exchanges of Sparse; 0: 8
    bool reductions = true;        // false: what replicas exchange has no bytes
    std::string policy = "expected_finish";
    std::string rebalancer = "none";
    Duration rebalance_every = std::chrono::seconds(300);

    [[nodiscard]] std::uint64_t parameters() const {
        return state_bytes / swarm::run::MemoryPlan::kStateBytesPerParameter;
    }

    /// Parameters for which replicas exchange sums or changes.
    [[nodiscard]] std::uint64_t exchanged() const { return reductions ? parameters() : 0; }

    /// Steps from one exchange of mode sparse to the next.
    [[nodiscard]] std::uint32_t steps_between_syncs() const {
        return sync_every == 0 ? swarm::run::kSyncEveryDefault : sync_every;
    }

    [[nodiscard]] bool is_sparse() const { return mode == swarm::run::SyncMode::Sparse; }
};

struct Scenario {
    std::string name;      // the file's name
    std::string question;  // the file's first comment line
    Mode mode = Mode::Exact;
    std::uint64_t seed = 1;
    Duration duration = std::chrono::minutes(5);
    Duration calm{};  // length of the part without faults at the end: a step must commit in it
    Pipeline pipeline;
    std::vector<PeerGroup> groups{PeerGroup{}};
    Regions regions;
    Churn churn;
    Faults faults;
    std::vector<Planned> plan;
    std::string folder;  // where relative paths (the trace) start
};

/// Reads a scenario. `file` names the text in errors. `settings`: --set key=value pairs, which win
/// over the file; a bare `peers` scales all groups to that total.
swarm::Result<Scenario> parse_scenario(
    std::string_view toml,
    std::string_view file,
    const std::vector<std::pair<std::string, std::string>>& settings = {}
);
swarm::Result<Scenario> load_scenario(
    const std::string& path, const std::vector<std::pair<std::string, std::string>>& settings = {}
);

[[nodiscard]] std::uint32_t peers_of(const Scenario& scenario);

}  // namespace sim

// The figures of a run's steps in its folder, for other programs: metrics.jsonl, which every
// process of the run continues, and a file of events for TensorBoard by each process.
// Invariant: a line or record is whole when add() returns, or the disk has failed. Both files are
// for people: they are not synced, and a disk that fails ends them with a warning, not the run.
// Threading: one thread. Cost: two write calls per step. Size: about 250 bytes per step each.
#pragma once

#include "swarm/base/durable_file.hpp"
#include "swarm/cli/common/report_lines.hpp"
#include "swarm/cli/metrics/event_file.hpp"
#include "swarm/cli/metrics/step_metrics.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/run/config.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace swarm::cli {

/// The file with one line per step, in the folder of a run.
inline constexpr const char* kMetricsFile = "metrics.jsonl";

class MetricsFiles {
 public:
    /// The files are opened with the first step. The process has the folder's lock.
    MetricsFiles(std::filesystem::path folder, run::RunConfig config, Console& console)
        : folder_(std::move(folder)), config_(std::move(config)), console_(console) {}

    void add(const TrainReport& report, double unix_time_s);

 private:
    void add_one(const node::StepCommitted& step, double unix_time_s);
    void add_one(const node::StepSkipped& skip, double unix_time_s);

    void add_one(const HeldOutFound& found, double unix_time_s);

    void add_one(const node::PeerChanged& changed, double) { peers_ = changed.peers_per_stage; }

    template <class Other>
    void add_one(const Other&, double) {}

    /// Writes a line, and the scalars of its step.
    void write(
        double unix_time_s,
        std::uint64_t step,
        const std::string& line,
        const std::vector<Scalar>& scalars
    );
    Result<> open(double unix_time_s, std::uint64_t step);
    Result<> open_lines();

    std::filesystem::path folder_;
    run::RunConfig config_;
    Console& console_;
    std::vector<std::uint32_t> peers_;
    FileDescriptor lines_;
    std::string lines_path_;
    std::optional<EventFile> events_;
    bool failed_ = false;
};

/// Returns the time of the machine's clock, in seconds since 1970.
double unix_time_s();

}  // namespace swarm::cli

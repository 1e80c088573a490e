// A run by one coordinator and N peers, as real processes on loopback, with faults by the clock:
// `swarm local` with a run.
// Invariant: a fault happens only when Chaos allows it.
// Threading: the loop's thread. Times: real.
#pragma once

#include "swarm/cli/common/progress.hpp"
#include "swarm/cli/common/run_report.hpp"
#include "swarm/cli/local/chaos.hpp"
#include "swarm/cli/local/churn_plan.hpp"
#include "swarm/cli/local/demo_script.hpp"
#include "swarm/cli/local/local_fleet.hpp"
#include "swarm/cli/local/reported_child.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/web/shown_run.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace swarm::cli {

class LocalSwarm {
 public:
    /// `directory` exists and holds run.toml. `options` and `console` outlive this object.
    LocalSwarm(
        const LocalOptions& options,
        const ChurnPlan& churn,
        const run::RunConfig& config,
        std::filesystem::path directory,
        Console& console
    );

    /// Trains, then continues the prompt with the same peers. Returns the exit code.
    int train();
    /// Trains the same run in one process, and compares it with the run of train(). Returns the
    /// exit code.
    int verify();

    [[nodiscard]] RunReport& report() { return report_; }

    [[nodiscard]] const DemoScript& demo() const { return demo_; }

 private:
    using Peer = LocalFleet::Peer;

    enum class Begin : std::uint8_t { New, Resumed };
    /// Sequel to the death of a peer: the same peer starts again, or a newcomer takes its place.
    enum class Afterwards : std::uint8_t { Restart, Newcomer };

    Result<> start_coordinator(Begin begin);
    [[nodiscard]] std::string threads_of_peer() const;
    Result<> add_peer(std::uint32_t service_ms);
    Result<> start(Peer& peer);
    void on_report(const TrainReport& report);
    void on_listening(const std::string& address);
    void on_committed(const node::StepCommitted& step);
    void on_finished();
    void on_coordinator_end(int exit_code);
    void on_peer_end(Peer& peer, int exit_code);
    void on_child();
    void generate();

    void disturb_by_the_clock();
    void kill_somebody();
    void freeze_somebody();
    void drain_somebody();
    void kill_coordinator();
    void cut_something();
    void kill(Peer& peer, Afterwards afterwards);
    void add_successor(Peer& peer);
    void freeze(Peer& peer, Duration time);
    void wait_for_goodbyes();
    void end(int exit_code);
    void end(const Error& error);

    const LocalOptions& options_;
    ChurnPlan churn_;
    run::RunConfig config_;
    std::filesystem::path directory_;
    Console& console_;
    net::EventLoop loop_;
    Progress progress_;
    RunReport report_;
    ShownRun shown_;
    Chaos chaos_;
    DemoScript demo_;
    boost::asio::steady_timer resume_timer_;  // for the coordinator
    std::unique_ptr<ReportedChild> coordinator_;
    bool coordinator_killed_ = false;  // until the next one starts
    std::optional<Child> generator_;
    LocalFleet fleet_;
    std::set<PeerId> draining_;
    std::string listens_;  // the address of the coordinator
    std::optional<int> exit_code_;
};

}  // namespace swarm::cli

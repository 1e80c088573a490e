// One coordinator and N peers as real processes on loopback, with faults by the clock: what
// `swarm local` runs.
// Invariants: a fault is only what Chaos allows; every child is ended by its own pid before this
// object is gone, whatever happens.
// Threading: the loop's thread. Times: real.
#pragma once

#include "swarm/cli/console.hpp"
#include "swarm/cli/local/chaos.hpp"
#include "swarm/cli/local/churn_plan.hpp"
#include "swarm/cli/local/demo_script.hpp"
#include "swarm/cli/local/local_lines.hpp"
#include "swarm/cli/local/reported_child.hpp"
#include "swarm/cli/options.hpp"
#include "swarm/cli/run_report.hpp"
#include "swarm/net/event_loop.hpp"

#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

class LocalSwarm {
 public:
    /// `directory` exists and holds run.toml.
    LocalSwarm(
        const LocalOptions& options,
        const ChurnPlan& churn,
        const run::RunConfig& config,
        std::filesystem::path directory,
        Console& console
    );
    LocalSwarm(const LocalSwarm&) = delete;
    LocalSwarm& operator=(const LocalSwarm&) = delete;
    ~LocalSwarm();

    /// Trains, then continues the prompt with the same peers. The exit code.
    int train();
    /// The same run in one process, compared with what train() has seen. The exit code.
    int verify();

    [[nodiscard]] RunReport& report() { return report_; }

    [[nodiscard]] const DemoScript& demo() const { return demo_; }

    [[nodiscard]] const std::vector<std::uint32_t>& service_ms() const { return service_ms_; }

    [[nodiscard]] PeerId peer_id(std::size_t index) const { return peers_[index]->id; }

    [[nodiscard]] std::size_t peer_count() const { return peers_.size(); }

 private:
    struct Peer {
        explicit Peer(boost::asio::io_context& io) : timer(io) {}

        std::string name;  // of its key and log file
        PeerId id;
        std::uint32_t service_ms = 0;
        std::vector<std::string> addresses;  // flags
        std::optional<Child> process;
        bool expected_to_end = false;
        bool draining = false;
        boost::asio::steady_timer timer;  // of its restart or thaw, or of its successor
    };

    Result<> start_coordinator(bool resume);
    Result<> add_peer(std::uint32_t service_ms);
    Result<> start_peer(Peer& peer);
    void on_report(const TrainReport& report);
    void on_listening(const std::string& address);
    void on_committed(const node::StepCommitted& step);
    void on_finished();
    void on_coordinator_end(int exit_code);
    void generate();

    /// One kind of disturbance, again and again.
    struct Disturbance {
        Disturbance(boost::asio::io_context& io, Duration mean_pause, void (LocalSwarm::*what)())
            : mean(mean_pause), act(what), timer(io) {}

        Duration mean;
        void (LocalSwarm::*act)();
        boost::asio::steady_timer timer;
    };

    void disturb_by_the_clock();
    void await_next(Disturbance& disturbance);
    void kill_somebody();
    void freeze_somebody();
    void drain_somebody();
    void kill_coordinator();
    void cut_something();
    void kill(Peer& peer, bool restart);
    void add_successor(Peer& peer);
    void freeze(Peer& peer, Duration time);
    void calm_down();
    void await_children();
    void on_child_signal();
    void wait_for_goodbyes();
    [[nodiscard]] Peer* find(PeerId id);
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
    Chaos chaos_;
    LocalLines lines_;
    DemoScript demo_;
    std::vector<std::uint32_t> service_ms_;
    boost::asio::signal_set child_signals_;
    std::vector<std::unique_ptr<Disturbance>> disturbances_;
    boost::asio::steady_timer resume_timer_;  // of the coordinator
    std::unique_ptr<ReportedChild> coordinator_;
    bool coordinator_killed_ = false;  // until the next one starts
    std::optional<Child> generator_;
    std::vector<std::unique_ptr<Peer>> peers_;
    std::string listens_;  // the coordinator
    std::string address_;  // what others dial to reach it
    bool calm_ = false;    // no more faults
    std::optional<int> exit_code_;
};

}  // namespace swarm::cli

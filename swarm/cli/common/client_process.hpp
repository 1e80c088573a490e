// A process that asks others and serves nobody, around its role: an identity for this once, a host
// that nobody dials, signals, and the lines that people see.
// Invariants: the first signal ends the process in order, the second one at once. The role's last
// messages are sent, within kGoodbye.
// Threading: the main thread. Errors: start() returns Usage, NotFound or Malformed (Reject); what
// comes later is one line on stderr, and an exit code.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/stop_presses.hpp"
#include "swarm/net/host.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace swarm::cli {

class ClientProcess {
 public:
    static constexpr auto kGoodbye = std::chrono::seconds(2);

    struct Options {
        std::string towards{};                               // host:port that the role dials
        std::shared_ptr<net::FirstContact> first_contact{};  // judges who answers there
        std::string swarm_key_file{};
        /// Gets each report of a kind that this class does not handle.
        std::function<void(const node::Report&)> on_report{};
    };

    explicit ClientProcess(Console& console) : console_(console) {}

    /// Checks the options and runs the role's first turn.
    Result<> start(Options options, std::unique_ptr<node::Role> role);

    /// Hands the request to the role. REQUIRES: start() was well.
    void ask(node::Asked asked) { host_->ask(std::move(asked)); }

    /// Ends the process in order with this exit code; a later call overrides an earlier one.
    void end(int exit_code) { exit_code_ = exit_code; }

    [[nodiscard]] bool is_ending() const { return exit_code_.has_value(); }

    /// Runs until end(), a signal, or a failure of the host. Calls `look` after each event; it may
    /// be empty. REQUIRES: start() was well.
    void run(const std::function<void()>& look = {});

    /// Lets the role say goodbye. Returns the exit code. REQUIRES: run() has ended.
    int finish();

    /// The host has failed, and finish() has said why.
    [[nodiscard]] bool failed() const { return host_ && host_->failure(); }

 private:
    void on_tell(const node::Report& report);
    void on_signal(int number);

    Console& console_;
    std::function<void(const node::Report&)> on_report_;
    net::EventLoop loop_;
    std::optional<int> exit_code_;
    StopPresses presses_;
    std::optional<net::Host> host_;  // declared last: its reports reach the other fields
};

}  // namespace swarm::cli

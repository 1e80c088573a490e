// A directory, N peers that serve a model, or the members of a stack in turn, as real processes on
// loopback, and one answer by them, with faults by the token or by the clock: what
// `swarm local --model smollm2` and `swarm local --stack STACK.toml` run.
// Invariants: a peer is disturbed only while another one of its layers is listed and runs; every
// child is ended by its own pid before this object is gone, whatever happens.
// Threading: the loop's thread. Times: real.
#pragma once

#include "swarm/cli/console.hpp"
#include "swarm/cli/local/child.hpp"
#include "swarm/cli/local/local_lines.hpp"
#include "swarm/cli/options.hpp"
#include "swarm/cli/stack/remote_answer.hpp"
#include "swarm/cli/temporary_directory.hpp"
#include "swarm/net/event_loop.hpp"
#include "swarm/net/host.hpp"

#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

class LocalStack {
 public:
    /// What a peer serves: a model, or these layers of it.
    struct Served {
        std::string model;
        std::string layers{};  // "A-B"; empty: those with the fewest peers
        std::string bridge{};  // a file; empty: none leads to it

        friend bool operator==(const Served&, const Served&) = default;
    };

    /// `directory` exists; `options.prompt` is given. `models`: what the peers serve in turn.
    LocalStack(
        const LocalOptions& options,
        std::vector<Served> served,
        std::filesystem::path directory,
        Console& console
    );
    LocalStack(const LocalStack&) = delete;
    LocalStack& operator=(const LocalStack&) = delete;
    ~LocalStack();

    /// The exit code.
    int run();

 private:
    enum class Fault : std::uint8_t { Kill, Freeze };

    struct Peer {
        explicit Peer(boost::asio::io_context& io) : timer(io) {}

        std::string name;  // of its key and log file
        Served serves;
        PeerId id;
        std::uint32_t service_ms = 0;
        std::vector<std::string> addresses;  // flags
        std::optional<Child> process;
        std::optional<protocol::LayerRange> listed;  // for these layers
        bool frozen = false;
        boost::asio::steady_timer timer;  // of its restart or thaw
    };

    /// One kind of fault, again and again.
    struct Clockwork {
        Clockwork(boost::asio::io_context& io, Fault kind, Duration pause)
            : fault(kind), every(pause), timer(io) {}

        Fault fault;
        Duration every;
        boost::asio::steady_timer timer;
    };

    Result<> start();
    Result<> start_directory();
    Result<> start_peer(Peer& peer);
    void on_listed(const node::HostListed& host);
    void on_token(std::size_t count);
    void wind(Clockwork& clockwork);
    void disturb();
    [[nodiscard]] std::vector<PeerId> serving() const;
    [[nodiscard]] bool may_disturb(const Peer& peer) const;
    void disturb(Fault fault, Peer& peer);
    void await_children();
    void on_child_signal();
    Peer* find(PeerId id);
    void end(const Error& error);
    int answer();
    int verify();
    [[nodiscard]] int write_report();

    const LocalOptions& options_;
    GenerateOptions question_;
    std::vector<Served> served_;  // by turns
    std::filesystem::path directory_;
    Console& console_;
    net::EventLoop loop_;
    TemporaryDirectory scratch_;  // of the directory's host
    std::optional<net::Host> listing_;
    LocalLines lines_;
    std::string address_;  // what others dial to reach the directory
    boost::asio::signal_set child_signals_;
    std::vector<std::unique_ptr<Peer>> peers_;
    std::vector<std::unique_ptr<Clockwork>> clockworks_;
    std::optional<RemoteAnswer> answer_;
    std::map<std::uint32_t, std::vector<PeerId>> routes_;  // by member
    std::deque<Fault> due_;
    boost::json::array faults_;
    std::optional<bool> equal_;  // to one process
    bool calm_ = false;          // no more faults, and children may end
    std::optional<int> exit_code_;
};

/// `swarm local` with a model of others, or a stack.
int local_stack(const LocalOptions& options, Console& console);

}  // namespace swarm::cli

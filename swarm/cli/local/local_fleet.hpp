// The processes of `swarm local` that serve: their keys, logs and lines, and the faults that happen
// to them by the clock.
// Invariant: every child is ended by its own pid before this object is gone, whatever happens. A
// peer whose `process` is set was started and has not been seen to end.
// Threading: the loop's thread. Times: real. Errors: those of keys, lines and child processes.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"
#include "swarm/cli/local/child.hpp"
#include "swarm/cli/local/local.hpp"
#include "swarm/cli/local/local_lines.hpp"
#include "swarm/net/event_loop.hpp"

#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

class LocalFleet {
 public:
    struct Peer {
        explicit Peer(boost::asio::io_context& io) : timer(io) {}

        std::string name;        // name of its key and log file
        std::size_t number = 0;  // order of add(), from 0
        PeerId id;
        std::uint32_t service_ms = 0;
        std::uint64_t line_bytes_per_s = 0;  // each way; 0: no bound
        std::vector<std::string> flags;      // flags of `swarm serve` that the owner chose
        std::vector<std::string> place;      // flags that say where it listens
        std::optional<Child> process;
        bool frozen = false;
        boost::asio::steady_timer timer;  // its restart or thaw, or the start of its successor
    };

    struct Hooks {
        /// Called when the process of a peer has ended by itself.
        std::function<void(Peer&, int exit_code)> on_end;
        /// Called when any child of this program has ended or stopped.
        std::function<void()> on_child{};
    };

    /// `directory` exists. `options` and `loop` outlive this object.
    LocalFleet(
        net::EventLoop& loop,
        const LocalOptions& options,
        std::filesystem::path directory,
        Hooks hooks
    );
    LocalFleet(const LocalFleet&) = delete;
    LocalFleet& operator=(const LocalFleet&) = delete;
    ~LocalFleet() = default;

    /// Sets the address that all peers join, behind the lines between them. start() needs it.
    Result<> join(const std::string& address);

    /// The address that peers and clients dial, in front of the lines.
    [[nodiscard]] const std::string& address() const { return address_; }

    /// Makes the key and the place of one more peer. `flags`: those of `swarm serve` beside the
    /// ones that this class sets.
    Result<Peer*> add(std::string name, std::uint32_t service_ms, std::vector<std::string> flags);
    Result<> start(Peer& peer);

    /// Sends SIGKILL and waits for the end; Hooks::on_end is not called.
    void kill(Peer& peer);
    /// Sends SIGSTOP, and SIGCONT after `time`; then calls `on_thaw`.
    void freeze(Peer& peer, Duration time, std::function<void()> on_thaw);

    void cut_connection(std::uint64_t draw) { lines_.cut_one(draw); }

    /// Calls `then` after the pause, unless it is calm by then. A peer has one such pause at a
    /// time.
    void after(Peer& peer, Duration pause, std::function<void()> then);
    /// Calls `act` again and again until it is calm. `pause`: time to the next call.
    void repeat(std::function<Duration()> pause, std::function<void()> act);
    /// Ends all faults: nothing that waits happens, and frozen peers go on.
    void calm_down();
    /// Kills every peer.
    void end_all();

    [[nodiscard]] bool is_calm() const { return calm_; }

    /// Null: no peer has this id.
    [[nodiscard]] Peer* find(PeerId id);

    [[nodiscard]] const std::vector<std::unique_ptr<Peer>>& peers() const { return peers_; }

    [[nodiscard]] std::filesystem::path log_of(const std::string& name) const {
        return directory_ / (name + ".log");
    }

 private:
    struct Clock {
        explicit Clock(boost::asio::io_context& io) : timer(io) {}

        std::function<Duration()> pause;
        std::function<void()> act;
        boost::asio::steady_timer timer;
    };

    void wind(Clock& clock);
    void await_children();
    void on_child_signal();

    [[nodiscard]] std::filesystem::path key_of(const Peer& peer) const {
        return directory_ / (peer.name + ".pem");
    }

    net::EventLoop& loop_;
    std::filesystem::path directory_;
    Hooks hooks_;
    LocalLines lines_;
    std::string address_;
    boost::asio::signal_set child_signals_;
    std::vector<std::unique_ptr<Peer>> peers_;
    std::vector<std::unique_ptr<Clock>> clocks_;
    bool calm_ = false;
};

}  // namespace swarm::cli

// A process that others dial, around its roles: identities, stores, listeners, signals, and the
// lines that people see. A process with several seats is as many peers, which share its device.
// Invariant: run() ends when all roles are done, one has failed, a disk fails, or a person asks for
// the end; in each case it waits until the roles' last messages are sent, for kGoodbye at most.
// Threading: the main thread. Errors: one line on stderr, and an exit code.
#pragma once

#include "swarm/base/idle_memory.hpp"
#include "swarm/cli/common/peer_flags.hpp"
#include "swarm/cli/common/peer_status.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/stop_presses.hpp"
#include "swarm/net/address.hpp"
#include "swarm/net/host.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

class PeerProcess {
 public:
    static constexpr auto kGoodbye = std::chrono::seconds(5);

    struct Options {
        PeerFlags flags;
        std::string towards{};  // host:port that this peer dials; empty: none
        std::shared_ptr<net::FirstContact> first_contact{};  // judges who answers there
        std::shared_ptr<const net::Identity> owner{};  // vouches for new identities; null: nobody
        std::string store_folder{};  // for the files of the role; empty: the role writes none
        /// Printed at the first signal, which then asks the role to drain; empty: the first signal
        /// ends the process.
        std::string drain_note{};
        /// Asked every second; at the first No each role drains, or the process ends, as at a
        /// signal. Unset: the process may stay.
        std::function<bool()> may_stay{};
        std::string leave_note{};  // printed at that No
        /// Memory that was free at so many looks in a row goes back to the system.
        std::size_t memory_looks = IdleMemory::kTrainingLooks;
        /// Gets each report of a kind that this class does not handle.
        std::function<void(const node::Report&)> on_report{};
    };

    /// Facts about the process that a role may need.
    struct Self {
        PeerId peer;
        PeerId owner;  // the peer itself where nobody vouches for it
        Incarnation incarnation;
        std::string
            address;  // the addresses that others dial, as net::parse_addresses() reads them
        /// Work units of one forward, to be set once they are known: see paced_role.hpp.
        std::shared_ptr<double> forward_units;
        std::string store_folder;
    };

    using MakeRole = std::function<std::unique_ptr<node::Role>(const Self&)>;

    PeerProcess(Options options, Console& console)
        : options_(std::move(options)), console_(console) {}

    /// Returns the exit code.
    int run(const MakeRole& make_role);

    /// Whether run() has ended because this process might not stay.
    [[nodiscard]] bool was_sent_away() const { return sent_away_ && !signal_; }

 private:
    struct Seat {
        std::optional<net::FileStore> key_lock;  // where the store lies elsewhere
        std::optional<PeerStatus> status;
        std::string line;  // its last status line
        bool done = false;
        std::optional<net::Host> host;  // declared last: its reports reach the other fields
    };

    /// The checked options that all seats share.
    struct Means {
        std::optional<net::Address> towards;
        net::Address listen;
        std::vector<net::Address> advertise;  // empty: the addresses of this machine
        std::string swarm_key;
        std::shared_ptr<net::SharedDevice> device;
        std::shared_ptr<net::RateLimit> send_limit;  // null: there is none
        std::shared_ptr<net::RateLimit> receive_limit;
    };

    Result<> start(const MakeRole& make_role);
    Result<Means> check_means() const;
    Result<> start(std::uint32_t number, const Means& means, const MakeRole& make_role);
    std::filesystem::path store_folder(std::uint32_t number) const;
    void on_tell(Seat& seat, const node::Report& report);
    void show_status(Seat& seat, const node::ServerStatus& status);
    void on_signal(int number);
    void leave_if_asked();
    void drain();

    Options options_;
    Console& console_;
    net::EventLoop loop_;
    std::deque<Seat> seats_;  // a deque: hosts point at their seats
    std::optional<int> exit_code_;
    StopPresses presses_;
    std::optional<int> signal_;
    bool sent_away_ = false;
};

}  // namespace swarm::cli

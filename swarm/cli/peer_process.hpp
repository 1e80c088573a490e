// What a process that others dial has around its roles: identities, stores, listeners, signals, and
// the lines that people see. A process with several seats is as many peers, which share its device.
// Invariant: run() ends when all roles are done, one has failed, a disk fails, or a person says so;
// in each case the roles' last words are sent, for kGoodbye at most.
// Threading: the main thread. Errors: one line on stderr, and an exit code.
#pragma once

#include "swarm/cli/console.hpp"
#include "swarm/cli/temporary_directory.hpp"
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

namespace swarm::cli {

class PeerProcess {
 public:
    static constexpr auto kGoodbye = std::chrono::seconds(5);

    struct Options {
        std::string towards;  // host:port that this peer dials; empty: none
        std::uint32_t seats = 1;
        std::string listen;       // of the first seat; the next ports are those of the next seats
        std::string advertise{};  // what others dial instead, likewise; empty: found out
        std::string dial_from{};  // an address of this machine; empty: as it is routed
        std::string key_file;     // empty: a new identity
        std::string swarm_key_file;
        std::string store_folder{};  // for what the role writes; empty: it writes nothing
        std::uint32_t service_ms = 0;
        /// Work units of one forward, once known: what service_ms holds. See paced_role.hpp.
        std::shared_ptr<double> forward_units = std::make_shared<double>(0);
        /// Said at the first signal, which then asks the role to drain; empty: it ends the process.
        std::string drain_note{};
        std::function<void(const node::Report&)> on_report{};  // of kinds that are not handled here
    };

    /// What a role may want to know of the process.
    struct Self {
        PeerId peer;
        Incarnation incarnation;
        std::string address;  // where others dial it
        /// Work units of one forward, once known: what service_ms holds. See paced_role.hpp.
        std::shared_ptr<double> forward_units;
        std::string store_folder;
    };

    using MakeRole = std::function<std::unique_ptr<node::Role>(const Self&)>;

    PeerProcess(Options options, Console& console)
        : options_(std::move(options)), console_(console) {}

    /// The exit code.
    int run(const MakeRole& make_role);

 private:
    struct Seat {
        std::optional<TemporaryDirectory> scratch;
        std::optional<Result<net::FileStore>> key_lock;  // where the store lies elsewhere
        std::string status;
        bool done = false;
        std::optional<net::Host> host;  // last: it tells of the rest
    };

    /// What all seats have in common, checked.
    struct Means {
        std::optional<net::Address> towards;
        net::Address listen;
        std::optional<net::Address> advertise;
        std::string swarm_key;
        std::shared_ptr<net::SharedDevice> device;
    };

    Result<> start(const MakeRole& make_role);
    Result<Means> check_means() const;
    Result<> start(std::uint32_t number, const Means& means, const MakeRole& make_role);
    std::filesystem::path store_folder(std::uint32_t number, Seat& seat) const;
    void on_tell(Seat& seat, const node::Report& report);
    void show_status();
    void on_signal(int number);

    Options options_;
    Console& console_;
    net::EventLoop loop_;
    std::deque<Seat> seats_;  // hosts point at theirs
    std::optional<int> exit_code_;
    std::optional<int> signal_;
};

}  // namespace swarm::cli

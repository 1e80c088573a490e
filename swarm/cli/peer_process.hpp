// What a process that others dial has around its role: identity, store, listener, signals, and the
// lines that people see.
// Invariant: run() ends when the role is done or has failed, its disk fails, or a person says so;
// in each case the role's last word is sent, for kGoodbye at most.
// Threading: the main thread. Errors: one line on stderr, and an exit code.
#pragma once

#include "swarm/cli/console.hpp"
#include "swarm/cli/temporary_directory.hpp"
#include "swarm/net/address.hpp"
#include "swarm/net/host.hpp"

#include <chrono>
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
        std::string listen;
        std::string advertise{};  // what others dial instead; empty: found out
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
    };

    using MakeRole = std::function<std::unique_ptr<node::Role>(const Self&)>;

    PeerProcess(Options options, Console& console)
        : options_(std::move(options)), console_(console) {}

    /// The exit code.
    int run(const MakeRole& make_role);

 private:
    Result<> start(const MakeRole& make_role);
    Result<> start(
        const std::optional<net::Address>& towards,
        const net::Address& listen,
        std::string swarm_key,
        const net::Identity& identity,
        net::FileStore store,
        const MakeRole& make_role
    );
    std::filesystem::path store_folder();
    void on_tell(const node::Report& report);
    void on_signal(int number);

    Options options_;
    Console& console_;
    std::optional<TemporaryDirectory> scratch_;
    std::optional<Result<net::FileStore>> key_lock_;  // where the store lies elsewhere
    net::EventLoop loop_;
    std::optional<net::Host> host_;
    std::optional<int> exit_code_;
    std::optional<int> signal_;
};

}  // namespace swarm::cli

// Runs one role on a real machine: TLS links, a steady clock, a device thread, a disk. The host
// keeps the contract of swarm/node/role.hpp, as sim/world does on virtual time.
// Every wait is bounded: dial_timeout for dialling and being dialled, drain_timeout for a closing
// link, stall_timeout for a frame that has begun. A partner's idle link is the role's business.
// Newcomers: at most half_open_max connections have not said Hello, and newcomers_max links have no
// partner at their end; one more ends one of the fullest network (admission/eviction). Threading:
// the loop's thread; ask() and stop() from any thread. fsync and jobs have threads of their own.
// Errors: listen() returns Usage with the reason; a failed disk, or a stranger where the owner of
// the run should be, ends the host, and failure() has it.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/base/units.hpp"
#include "swarm/net/device/compute_pool.hpp"
#include "swarm/net/event_loop.hpp"
#include "swarm/net/file_store.hpp"
#include "swarm/net/identity.hpp"
#include "swarm/net/rate_limit.hpp"
#include "swarm/node/role.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace swarm::net {

class HostCore;

struct HostOptions {
    std::string swarm_key;  // shared by the peers of a private run; empty for an open run
    Incarnation incarnation = random_incarnation();
    std::string listen_address = "*";  // an IP address; *: all of this machine, both families
    std::uint16_t listen_port = 0;     // 0 takes a free port
    std::string dial_from;       // an IP address of this machine; empty: the system chooses one
    bool dials_private = false;  // private addresses that others name, on any run (reach/dial_rule)
    /// Judges who answers a Dial without a peer. Whom it refuses before it has let anybody in ends
    /// the host (failure()); later refusals are failed dials. Null: anybody may answer.
    std::shared_ptr<FirstContact> first_contact{};
    Duration dial_timeout = std::chrono::seconds(3);
    Duration drain_timeout = std::chrono::seconds(2);
    Duration stall_timeout = std::chrono::seconds(10);
    /// A whole run over slow lines may be in its handshakes at once. A quarter of the process's
    /// file descriptors bounds them, too.
    std::size_t half_open_max = 256;
    /// Links that came in from peers which are no partners of the role (node/allowance.hpp). Half
    /// of the process's file descriptors bounds them, too.
    std::size_t newcomers_max = 512;
    Duration stranger_silence_max = std::chrono::seconds(20);
    std::shared_ptr<RateLimit> send_limit{};     // hosts may share one; null: there is none
    std::shared_ptr<RateLimit> receive_limit{};  // same
    std::function<void(const node::Report&)> on_tell = {};
    ComputePool::Options compute = {};
};

class Host {
 public:
    Host(
        EventLoop& loop,
        std::unique_ptr<node::Role> role,
        FileStore store,
        const Identity& identity,
        HostOptions options
    );
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    /// Ends like kill().
    ~Host();

    /// Listens, for peers that others dial; comes before start(). Returns the port.
    Result<std::uint16_t> listen();
    /// Tells the address (host:port) for a Dial that names none.
    void know_address(const PeerId& peer, std::string address);

    /// Runs the role's first turn; requests and links follow.
    void start();

    /// Hands the request to the role as an event, after start().
    void ask(node::Asked asked);
    /// Gives the role its Stop, sends and stores what that turn asks for, then ends.
    void stop();
    /// Ends like a SIGKILL: the role hears nothing, and nothing is flushed.
    void kill();

    /// True when an ended host has sent and stored everything that it had to.
    [[nodiscard]] bool finished() const;

    /// Bytes of frames that this host's links have carried so far.
    [[nodiscard]] std::uint64_t sent_bytes() const;
    [[nodiscard]] std::uint64_t received_bytes() const;

    /// Returns the error that made the host end by itself, if one did.
    [[nodiscard]] const std::optional<Error>& failure() const;

 private:
    std::shared_ptr<HostCore> core_;
};

}  // namespace swarm::net

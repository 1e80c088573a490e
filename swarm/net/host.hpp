// Runs one role on a real machine: TLS links, a steady clock, a device thread, a disk. This is the
// real half of the contract in swarm/node/role.hpp; the other is sim/world.
// Every wait is bounded: dialling and being dialled by dial_timeout, a closing link by
// drain_timeout, a frame under way by stall_timeout; an idle link is the role's business.
// Strangers: at most half_open_max connections that have not said Hello; one more ends the oldest.
// Threading: the loop's thread, but ask() and stop() from any thread. fsync and jobs run on threads
// of their own.
// Errors: listen() tells why it cannot (Usage); a failed disk ends the host and is its failure().
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/base/units.hpp"
#include "swarm/net/compute_pool.hpp"
#include "swarm/net/event_loop.hpp"
#include "swarm/net/file_store.hpp"
#include "swarm/net/identity.hpp"
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
    std::string swarm_key;  // shared by the peers of a private run; empty: an open run
    Incarnation incarnation = random_incarnation();
    std::string listen_address = "0.0.0.0";
    std::uint16_t listen_port = 0;  // 0: a free one
    std::string dial_from;          // an address of this machine, is_ip(); empty: as it is routed
    Duration dial_timeout = std::chrono::seconds(3);
    Duration drain_timeout = std::chrono::seconds(2);
    Duration stall_timeout = std::chrono::seconds(10);
    std::size_t half_open_max = 64;
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
    /// As kill().
    ~Host();

    /// Before start(), by peers that others dial. The port.
    Result<std::uint16_t> listen();
    /// For a Dial without an address: host:port.
    void know_address(const PeerId& peer, std::string address);

    /// The role's first turn; then requests and links.
    void start();

    /// Comes to the role as an event, after start().
    void ask(node::Asked asked);
    /// Lets the role say its last word, sends and stores what it asked for, then ends.
    void stop();
    /// Ends as SIGKILL would: no word to the role, nothing flushed.
    void kill();

    /// True when an ended host has sent and stored all it had to.
    [[nodiscard]] bool finished() const;

    /// Set when the host had to end by itself.
    [[nodiscard]] const std::optional<Error>& failure() const;

 private:
    std::shared_ptr<HostCore> core_;
};

/// Who answers at host:port: what a newcomer that knows an address only needs for its first Dial.
/// Trust on first use; a swarm key is proven when the link is made.
Result<PeerId> identify_peer(const std::string& address, const Identity& self, Duration timeout);

}  // namespace swarm::net

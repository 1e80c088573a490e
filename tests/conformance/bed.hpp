// What a conformance script needs from a place that runs roles: real hosts (host_bed.cpp) or the
// simulated world (sim_bed.cpp). A test is written once against Bed and runs on both.
// Peers are named by Who, as their PeerIds differ from bed to bed. A Dial without an address finds
// every peer of the bed. Disks survive crash and restart; each start is a new incarnation.
#pragma once

#include "swarm/node/role.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace swarm::test {

enum class Who : std::uint8_t { Anna, Bert, Cleo };

class Bed {
 public:
    /// Called at every start of the peer's process.
    using MakeRole = std::function<std::unique_ptr<node::Role>()>;

    Bed() = default;
    Bed(const Bed&) = delete;
    Bed& operator=(const Bed&) = delete;
    virtual ~Bed() = default;

    /// Known before the peer starts.
    [[nodiscard]] virtual PeerId id_of(Who who) const = 0;

    virtual void start(Who who, MakeRole make_role) = 0;
    /// Ends the process in order: Stop, then all that its turn asked for. Waits for the end.
    virtual void stop(Who who) = 0;
    /// Ends the process as SIGKILL would.
    virtual void crash(Who who) = 0;
    /// crash(), if it still runs, then start with the same disk and the MakeRole of start().
    virtual void restart(Who who) = 0;
    virtual void ask(Who who, node::Asked asked) = 0;

    /// From now on appending a record above 1 MiB fails on this peer's disk.
    virtual void fill_disk(Who who) = 0;
    /// False once the process has ended: by stop(), crash() or a failed disk.
    [[nodiscard]] virtual bool is_running(Who who) const = 0;

    /// Lets things happen until `done`; false when it is still false after 10 s, of real or of
    /// virtual time.
    [[nodiscard]] virtual bool run_until(const std::function<bool()>& done) = 0;
};

std::unique_ptr<Bed> make_host_bed();
std::unique_ptr<Bed> make_sim_bed();

}  // namespace swarm::test

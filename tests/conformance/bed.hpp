// A bed is a place that runs roles for a conformance script: real hosts (host_bed.cpp) or the
// simulated world (sim_bed.cpp). A test is written once against Bed and runs on both.
// Peers are named by Who, since their PeerIds differ from bed to bed. A Dial without an address
// finds every peer of the bed. Disks survive crash and restart; each start is a new incarnation.
#pragma once

#include "swarm/node/role.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace swarm::test {

enum class Who : std::uint8_t { Anna, Bert, Cleo };
inline constexpr Who kAnna = Who::Anna;
inline constexpr Who kBert = Who::Bert;

class Bed {
 public:
    /// Makes the role; called at every start of the peer's process.
    using MakeRole = std::function<std::unique_ptr<node::Role>()>;

    Bed() = default;
    Bed(const Bed&) = delete;
    Bed& operator=(const Bed&) = delete;
    virtual ~Bed() = default;

    /// Returns the id of the peer, which is known before the peer starts.
    [[nodiscard]] virtual PeerId id_of(Who who) const = 0;

    virtual void start(Who who, MakeRole make_role) = 0;
    /// Ends the process in order: Stop, then everything that its turn asks for. Waits for the end.
    virtual void stop(Who who) = 0;
    /// Ends the process like a SIGKILL.
    virtual void crash(Who who) = 0;
    /// Crashes the process if it still runs, then starts it with the same disk and the MakeRole of
    /// start().
    virtual void restart(Who who) = 0;
    virtual void ask(Who who, node::Asked asked) = 0;

    /// Makes every append of a record above 1 MiB fail on this peer's disk.
    virtual void fill_disk(Who who) = 0;
    /// Tells whether the process still runs: stop(), crash() and a failed disk end it.
    [[nodiscard]] virtual bool is_running(Who who) const = 0;

    /// Runs the bed until done() is true; returns false when done() is still false after 10 s, of
    /// real or of virtual time.
    [[nodiscard]] virtual bool run_until(const std::function<bool()>& done) = 0;
};

std::unique_ptr<Bed> make_host_bed();
std::unique_ptr<Bed> make_sim_bed();

}  // namespace swarm::test

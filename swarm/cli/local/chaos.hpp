// The choice of the peer that `swarm local` kills, freezes or drains: a pure decision from the
// reports of the coordinator and the states of its own processes.
// Invariant: a peer is disturbed only when its stage keeps another safe member. A member is safe
// when it runs, the coordinator has admitted it since its last start, and it has taken part in two
// commits since its last freeze. A member whose state is not known for sure is not safe.
// Threading: one thread. Cost: O(peers) per call.
#pragma once

#include "swarm/base/rng.hpp"
#include "swarm/node/report.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace swarm::cli {

class Chaos {
 public:
    explicit Chaos(std::uint64_t seed) : rng_(seed, kStream) {}

    // The owner of the processes calls these five.
    void started(PeerId peer);
    void ended(PeerId peer);
    void frozen(PeerId peer);
    void thawed(PeerId peer);
    /// The next coordinator must first report its members.
    void coordinator_ended();

    // The rest are reports of the coordinator.
    void on(const node::PeerChanged& changed);
    void on(const node::StepCommitted& step);

    [[nodiscard]] bool may_disturb(PeerId peer) const;
    /// Returns a random peer among those that may be disturbed; nullopt: there is none.
    std::optional<PeerId> pick();
    /// Draws a time between the two, in steps of a millisecond.
    Duration draw(Duration shortest, Duration longest);

    std::uint64_t draw() { return rng_.next(); }

    /// Draws the pause until the next disturbance: half to one and a half of the mean.
    Duration pause(Duration mean) { return draw(mean / 2, mean + mean / 2); }

 private:
    static constexpr std::uint64_t kStream = 0x6b696c6c6572;
    /// A thawed member takes part in the second commit after its thaw, or is fenced before it.
    static constexpr std::uint32_t kCommitsUntilTrusted = 2;

    struct Peer {
        bool running = false;
        bool frozen = false;
        std::optional<StageIndex> member_of;  // admitted since its start, and not fenced
        std::uint32_t commits_until_trusted = 0;

        [[nodiscard]] bool is_safe() const {
            return running && !frozen && member_of && commits_until_trusted == 0;
        }
    };

    std::map<PeerId, Peer> peers_;
    std::uint64_t commits_ = 0;
    Rng rng_;
};

}  // namespace swarm::cli

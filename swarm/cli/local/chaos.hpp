// Whom `swarm local` may kill, freeze or drain: a pure decision from the coordinator's reports and
// the states of its own processes.
// Invariant: a peer is disturbed only when its stage keeps another safe member: one that runs, that
// the coordinator admitted since it last started, and that was not frozen since, or two commits
// ago. What is not known for sure is not safe; then nothing is disturbed.
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

    // What happens to our processes.
    void started(PeerId peer);
    void ended(PeerId peer);
    void frozen(PeerId peer);
    void thawed(PeerId peer);
    /// Whoever comes next has yet to say who is a member.
    void coordinator_ended();

    // What the coordinator says.
    void on(const node::PeerChanged& changed);
    void on(const node::StepCommitted& step);

    [[nodiscard]] bool may_disturb(PeerId peer) const;
    /// A random one of those that may be disturbed.
    std::optional<PeerId> pick();
    /// Between the two, in milliseconds.
    Duration draw(Duration shortest, Duration longest);

    std::uint64_t draw() { return rng_.next(); }

    /// Until the next disturbance: half to one and a half of the mean.
    Duration pause(Duration mean) { return draw(mean / 2, mean + mean / 2); }

 private:
    static constexpr std::uint64_t kStream = 0x6b696c6c6572;
    /// A thawed member takes part in the second commit after its thaw, or is fenced before it.
    static constexpr std::uint32_t kCommitsUntilTrusted = 2;

    struct Peer {
        bool running = false;
        bool frozen = false;
        std::optional<StageIndex> member_of;  // admitted since it started, not fenced
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

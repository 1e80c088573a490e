// Judges from heartbeats and links alone which peers are suspect or dead. It is a sub-machine: a
// role owns it, feeds it, and calls judge() at next_deadline().
// Invariant: each watched peer has exactly one entry in the schedule, at its next possible verdict.
// Rules: a peer is suspect after 4 s of silence and dead after 6 s; a lost link must be restored
// within 2 s. After a stall of this process no peer is judged, because heartbeats may wait in its
// own sockets. Threading: single strand.
// Cost: O(log peers) per call; a stall costs O(peers log peers) once.
// Source: step protocol, section 6; the stall rule is the idea of Lifeguard (arXiv 1707.00788).
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/units.hpp"

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace swarm::coordinator {

class FailureDetector {
 public:
    struct Timing {
        Duration suspect_after = std::chrono::seconds(4);
        Duration dead_after = std::chrono::seconds(6);
        Duration restore_link_within = std::chrono::seconds(2);
        Duration stalled_when_late_by = std::chrono::seconds(1);
    };

    enum class Verdict { Suspect, Dead };

    struct Finding {
        PeerId peer;
        Verdict verdict;

        friend bool operator==(const Finding&, const Finding&) = default;
    };

    explicit FailureDetector(Timing timing) : timing_(timing) {}

    /// Watches the peer from now on, as if it had just been heard over a working link.
    void watch(PeerId peer, TimePoint now);
    void forget(PeerId peer);

    // Calls about a peer that is not watched do nothing: it may have died a moment ago.
    void heard(PeerId peer, TimePoint now);
    void link_lost(PeerId peer, TimePoint now);
    void link_restored(PeerId peer, TimePoint now);

    /// New verdicts, earliest first; each is given once. A dead peer is forgotten.
    [[nodiscard]] std::vector<Finding> judge(TimePoint now);
    [[nodiscard]] TimePoint next_deadline() const;

 private:
    struct Watch {
        TimePoint heard_at;
        std::optional<TimePoint> link_lost_at;
        bool suspected = false;
        TimePoint scheduled_at = kNever;
    };

    [[nodiscard]] TimePoint dead_at(const Watch& watch) const;
    void schedule(PeerId peer, Watch& watch);
    void pardon_all(TimePoint now);

    Timing timing_;
    std::map<PeerId, Watch> watches_;
    std::set<std::pair<TimePoint, PeerId>> schedule_;
};

}  // namespace swarm::coordinator

// Troubles that a drawn fleet can be given on top of its faults: peers that are asked to leave and
// go at a commit, donors that die while they are asked for their state, a coordinator whose disk is
// torn. They are drawn from a stream of their own, so that a fleet's other faults stay as its seed
// says.
// Invariant: no trouble takes the last peer of a stage that answers and stays.
// Threading: none. Cost: O(members) per second of virtual time.
#pragma once

#include "sim/run/scenario_run.hpp"
#include "swarm/base/rng.hpp"

#include <cstdint>
#include <map>
#include <optional>

namespace sim::test {

class RoughTimes {
 public:
    struct Counts {
        std::uint64_t drains = 0;
        std::uint64_t donor_deaths = 0;
        std::uint64_t torn_disks = 0;
    };

    explicit RoughTimes(std::uint64_t seed) : rng_(seed, 0x70064) {}

    /// A function for ExactOptions::disturb; the object outlives the run.
    TimePoint disturb(RunWorld& run, RunPart part);
    void on_event(RunWorld& run, PeerId at, const node::Event& event);

    [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
    void begin(RunWorld& run);
    void kill_donor(RunWorld& run);
    void drain_one(RunWorld& run);
    void end_drains(RunWorld& run);
    void restart(RunWorld& run, bool all);
    void go(RunWorld& run, PeerId peer);
    /// Counts the other peers of the slot's stage that answer and stay.
    [[nodiscard]] std::size_t others(RunWorld& run, const swarm::protocol::SlotInfo& info) const;

    swarm::Rng rng_;
    Counts counts_;
    bool began_ = false;
    std::optional<PeerId> donor_;           // the donor that dies when the event is over
    std::map<PeerId, TimePoint> draining_;  // when each peer was asked to leave
    std::map<PeerId, TimePoint> back_at_;   // when each peer that was taken down here comes back
};

}  // namespace sim::test

// Raw material of a schedule, before it is made sound: comings and goings of peers, and faults that
// last for a while.
// Invariant: each (seed, peer, purpose) has its own random stream; a peer of a group is named by
// its group and its place in it, so that a group that grows shifts no peer's numbers in another
// group.
// Private to sim/scenario.
// Errors: none; happenings beyond the bound are counted and dropped, and the caller refuses.
#pragma once

#include "sim/peer.hpp"
#include "sim/scenario/schedule.hpp"

#include <cstdint>
#include <vector>

namespace sim {

/// Purposes of draws. They differ from every sim::Purpose, for which the world draws under the same
/// seed.
enum class Draws : std::uint64_t {
    Speed = 100,
    Up,
    Down,
    ClockOffset,
    ClockDrift,
    UpTime,
    Departure,
    Absence,
    Arrival,
    Swizzle,
    FreezeTime,  // and its Victim and Length
    PartitionTime = FreezeTime + 3,
    SlowDownTime = PartitionTime + 3,
    CutLinksTime = SlowDownTime + 3,
};

inline swarm::Rng stream_for(std::uint64_t seed, const PeerId& who, Draws purpose) {
    return {seed, name_bits(who, static_cast<std::uint64_t>(purpose))};
}

/// A fault from `begin` to `end`, by the kind that begins it.
struct Lasting {
    Happening::Kind kind{};  // Freeze, SlowDown, Block, CutLink
    TimePoint begin{};
    TimePoint end{};
    std::uint32_t peer = 0;
    std::uint32_t to = 0;
    double factor = 1.0;
};

/// The part of a run that follows when its faults stop.
enum class AfterFaults : std::uint8_t { Calm, EndOfRun };

class Happenings {
 public:
    void add(const Happening& happening) {
        if (!full()) {
            presence_.push_back(happening);
        }
    }

    void add(const Lasting& lasting) {
        if (!full()) {
            lasting_.push_back(lasting);
        }
    }

    /// A fault that lasts is two happenings.
    [[nodiscard]] bool full() const {
        return presence_.size() + 2 * lasting_.size() >= kHappeningsMax;
    }

    /// Makes the happenings sound (schedule.hpp). Faults stop at `end`. A peer that was there
    /// before and would come back after `end` comes back at `end` when a calm follows.
    std::vector<Happening> settle(
        const std::vector<FleetPeer>& fleet, TimePoint end, AfterFaults next_part
    );

 private:
    std::vector<Happening> settled_presence(
        const std::vector<FleetPeer>& fleet, TimePoint end, AfterFaults next_part
    );
    void append_settled_lasting(std::vector<Happening>& to, TimePoint end);

    std::vector<Happening> presence_;
    std::vector<Lasting> lasting_;
};

/// Adds the churn of one peer that is there from `from` on, until `end`; a last Join may be later.
void add_churn(
    const Churn& churn,
    std::uint64_t seed,
    const PeerId& who,
    std::uint32_t number,
    TimePoint from,
    TimePoint end,
    Happenings& to
);

/// Adds the faults over a fleet of `peers`; add_plan() adds the plan.
void add_faults(
    const Faults& faults, std::uint64_t seed, std::uint32_t peers, TimePoint end, Happenings& to
);
void add_plan(
    const std::vector<Planned>& plan, std::uint64_t seed, std::uint32_t peers, Happenings& to
);

}  // namespace sim

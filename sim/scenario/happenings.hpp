// What goes into a schedule before it is sound: comings and goings, and what lasts for a while.
// Invariant: each (seed, who, purpose) has its own random stream; a peer of a group is named by its
// group and its place in it, so that a group that grows shifts nobody's numbers in another.
// Private to sim/scenario. Errors: none; too many are counted and dropped, and the caller refuses.
#pragma once

#include "sim/peer.hpp"
#include "sim/scenario/schedule.hpp"

#include <cstdint>
#include <vector>

namespace sim {

/// Apart from sim::Purpose, which the world draws for under the same seed.
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
    FreezeTime,  // and Victim, Length
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

    /// Each that lasts is two happenings.
    [[nodiscard]] bool full() const {
        return presence_.size() + 2 * lasting_.size() >= kHappeningsMax;
    }

    /// Makes it sound (schedule.hpp). Faults stop at `end`; `calm` says whether a calm follows, to
    /// which those come back who would have come back later.
    std::vector<Happening> settle(const std::vector<FleetPeer>& fleet, TimePoint end, bool calm);

 private:
    std::vector<Happening> settled_presence(const std::vector<FleetPeer>&, TimePoint, bool);
    void append_settled_lasting(std::vector<Happening>& to, TimePoint end);

    std::vector<Happening> presence_;
    std::vector<Lasting> lasting_;
};

/// The churn of one peer that is there from `from` on, until `end`; a last Join may be later.
void add_churn(
    const Churn& churn,
    std::uint64_t seed,
    const PeerId& who,
    std::uint32_t number,
    TimePoint from,
    TimePoint end,
    Happenings& to
);

/// The faults over a fleet of `peers`, and the plan.
void add_faults(
    const Faults& faults, std::uint64_t seed, std::uint32_t peers, TimePoint end, Happenings& to
);
void add_plan(
    const std::vector<Planned>& plan, std::uint64_t seed, std::uint32_t peers, Happenings& to
);

}  // namespace sim

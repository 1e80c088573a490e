// A schedule says which fault befalls which peer, and when: the fleet and the faults of one
// scenario under one seed, the same for both fidelities.
// Invariant: a function of (scenario, seed), the same on every compiler; each peer and each purpose
// draws from a stream of its own (sim/peer.hpp), so that one peer more shifts no other peer's.
// Sorted by (at, peer, kind), and sound: only a peer that is down joins, everything else befalls a
// peer that is up, and a fault that lasts ends once and does not overlap its like. Crash and Join
// end a freeze without Thaw. Nothing begins in the calm phase; a fault that lasts (an absence, too)
// ends when that phase begins.
// Errors: Usage: a trace that is missing, out of order or not understood, with file and line; more
// than kHappeningsMax happenings.
// Threading: none. Cost: O(n log n) in the number of happenings.
#pragma once

#include "sim/scenario/scenario.hpp"

#include <cstdint>
#include <vector>

namespace sim {

using swarm::TimePoint;

/// One machine of the fleet; its number is that of sim::peer(n), from 1.
struct FleetPeer {
    std::uint32_t number = 0;
    std::uint32_t region = 0;  // index into Regions
    double units_per_s = 0;
    std::uint64_t up_bytes_per_s = 0;
    std::uint64_t down_bytes_per_s = 0;
    std::uint64_t memory_bytes = 0;  // 0: no bound
    double clock_offset_s = 0;
    double clock_drift_ppm = 0;
    bool there_at_start = true;  // false: the machine first comes with a Join
};

struct Happening {
    enum class Kind : std::uint8_t {
        Join,
        Leave,
        Crash,
        Freeze,
        Thaw,
        SlowDown,  // factor on its speed
        SpeedBack,
        Block,  // frames that peer sends to `to` are held
        Unblock,
        CutLink,  // the link between peer and `to` is reset, and blocked both ways
        MendLink,
    };

    TimePoint at{};
    std::uint32_t peer = 0;
    Kind kind{};
    std::uint32_t to = 0;
    double factor = 1.0;
};

/// "join", "thaw", "cut_link": for notes and error texts.
const char* name_of(Happening::Kind kind);

struct Schedule {
    std::vector<FleetPeer> fleet;
    std::vector<Happening> happenings;
};

swarm::Result<Schedule> make_schedule(const Scenario& scenario, std::uint64_t seed);

}  // namespace sim

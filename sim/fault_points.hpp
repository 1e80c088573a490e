// Named places in the world where a fault can be injected, each with a rule that says when.
// Invariant: a place that is off draws nothing, so switching one on shifts no other's numbers.
// Visits count from set() on, while a rule is on; a rule that names one peer counts that peer's
// visits.
// Threading: single strand. Cost: O(1) per visit. Source of the idea: FoundationDB's buggify.
#pragma once

#include "sim/peer.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/base/units.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace sim {

using swarm::Duration;

enum class FaultPoint : std::uint8_t {
    FrameIsSent,      // the frame's link is reset and the frame lost
    JobStarts,        // the job takes FaultRule::delay longer
    RecordIsWritten,  // crash in the turn that wrote it: a prefix of the unsynced records survives
    RecordIsSynced,   // crash: the record is durable, and no peer was told
    DialArrives,      // the dial is refused
    LinkComesUp,      // crash of the peer that has just heard of the link
    TurnBegins,       // crash instead of the turn
};

inline constexpr std::size_t kFaultPoints = 7;

/// The denominator for a probability that a person wrote.
inline constexpr std::uint64_t kFaultCases = std::uint64_t{1} << 40;

/// The number of kFaultCases that `probability` in [0, 1] stands for; a probability above 0 gives
/// at least one case.
inline std::uint64_t cases_of(double probability) {
    const auto cases =
        static_cast<std::uint64_t>(std::llround(probability * static_cast<double>(kFaultCases)));
    return probability > 0 ? std::max<std::uint64_t>(cases, 1) : 0;
}

struct FaultRule {
    std::uint64_t numerator = 0;  // the fault strikes in so many cases of `denominator`
    std::uint64_t denominator = 0;
    std::uint64_t visit = 0;  // on the n-th visit, from 1; 0: by probability
    std::optional<PeerIndex> only{};
    Duration delay{};  // JobStarts: how much longer; else: until the process is back, 0: never

    static FaultRule never() { return {}; }

    static FaultRule by_probability(
        std::uint64_t numerator, std::uint64_t denominator, Duration delay = {}
    ) {
        return {.numerator = numerator, .denominator = denominator, .delay = delay};
    }

    static FaultRule on_visit(std::uint64_t n, Duration delay = {}) {
        return {.visit = n, .delay = delay};
    }
};

class FaultPoints {
 public:
    void set(FaultPoint point, const FaultRule& rule) {
        at(point) = {rule, rule.visit > 0 || rule.denominator > 0, 0, at(point).fired};
    }

    /// Notes a visit of `peer`, which draws from its own stream, and tells whether the fault
    /// strikes.
    bool fires(FaultPoint point, PeerIndex peer, swarm::Rng& rng) {
        Place& place = at(point);
        return place.is_on && visit(place, peer, rng);
    }

    [[nodiscard]] Duration delay(FaultPoint point) const { return at(point).rule.delay; }

    /// Visits since the rule was set.
    [[nodiscard]] std::uint64_t visits(FaultPoint point) const { return at(point).visits; }

    /// Faults that struck, under all rules so far.
    [[nodiscard]] std::uint64_t fired(FaultPoint point) const { return at(point).fired; }

 private:
    struct Place {
        FaultRule rule{};
        bool is_on = false;
        std::uint64_t visits = 0;
        std::uint64_t fired = 0;
    };

    static bool visit(Place& place, PeerIndex peer, swarm::Rng& rng) {
        const FaultRule& rule = place.rule;
        if (rule.only && *rule.only != peer) {
            return false;
        }
        ++place.visits;
        const bool fires = rule.visit > 0 ? place.visits == rule.visit
                                          : rng.chance(rule.numerator, rule.denominator);
        place.fired += fires ? 1 : 0;
        return fires;
    }

    [[nodiscard]] Place& at(FaultPoint point) { return places_[static_cast<std::size_t>(point)]; }

    [[nodiscard]] const Place& at(FaultPoint point) const {
        return places_[static_cast<std::size_t>(point)];
    }

    std::array<Place, kFaultPoints> places_{};
};

}  // namespace sim

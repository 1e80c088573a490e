// Named places in the world where a fault can be injected, each with a rule that says when.
// Invariant: a place that is off draws nothing, so switching one on shifts no other's numbers.
// Visits count from set() on, while a rule is on; those of the one peer when it names one.
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
    FrameIsSent,      // its link is reset and the frame lost
    JobStarts,        // it takes FaultRule::delay longer
    RecordIsWritten,  // crash in the turn that wrote it: a prefix of what is not synced survives
    RecordIsSynced,   // crash: it is durable, and nobody was told
    DialArrives,      // it is refused
    LinkComesUp,      // crash of the peer that has just heard of it
    TurnBegins,       // crash instead
};

inline constexpr std::size_t kFaultPoints = 7;

/// The denominator for a probability that a person wrote.
inline constexpr std::uint64_t kFaultCases = std::uint64_t{1} << 40;

/// Of kFaultCases; the smallest that is possible is not never. probability in [0, 1].
inline std::uint64_t cases_of(double probability) {
    const auto cases =
        static_cast<std::uint64_t>(std::llround(probability * static_cast<double>(kFaultCases)));
    return probability > 0 ? std::max<std::uint64_t>(cases, 1) : 0;
}

struct FaultRule {
    std::uint64_t numerator = 0;  // in so many cases of `denominator`
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

    /// A visit of `peer`, which draws from its own stream.
    bool fires(FaultPoint point, PeerIndex peer, swarm::Rng& rng) {
        Place& place = at(point);
        return place.is_on && visit(place, peer, rng);
    }

    [[nodiscard]] Duration delay(FaultPoint point) const { return at(point).rule.delay; }

    /// Since the rule was set.
    [[nodiscard]] std::uint64_t visits(FaultPoint point) const { return at(point).visits; }

    /// Under all rules so far.
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

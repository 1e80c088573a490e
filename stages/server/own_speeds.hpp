// Measures a stage server for the coordinator's choice of codecs: how long its device works on a
// microbatch, and how fast its line is while activations or gradients leave it.
// Threading: single strand. Units: seconds, bytes per second. Cost: a few numbers per leg; no
// memory that grows.
#pragma once

#include "router/line_meter.hpp"
#include "swarm/base/units.hpp"
#include "swarm/protocol/message.hpp"

#include <cstdint>

namespace stages {

using swarm::TimePoint;
namespace protocol = swarm::protocol;

class OwnSpeeds {
 public:
    /// The forward leg of the tail is the whole microbatch; other stages have a backward leg, too.
    enum class Place : std::uint8_t { BelowTail, Tail };

    /// Notes that a job, which was given to the device at `given`, is done. Jobs are done in the
    /// order in which they were given.
    void computed(protocol::Leg leg, TimePoint given, TimePoint now);

    /// Notes that a leg leaves. The caller passes the result to arrived().
    [[nodiscard]] router::LineMeter::Generation sent(protocol::Leg leg, TimePoint now) {
        return line(leg).sent(now);
    }

    /// Notes that a leg of `bytes` bytes has arrived; `sent_in` is what sent() returned.
    void arrived(
        protocol::Leg leg, std::uint64_t bytes, router::LineMeter::Generation sent_in, TimePoint now
    ) {
        line(leg).arrived(bytes, sent_in, now);
    }

    /// Forgets the legs under way: a new step begins, or legs were lost.
    void forget_what_is_under_way() {
        to_next_.forget_what_is_under_way();
        to_previous_.forget_what_is_under_way();
    }

    /// The figures for a heartbeat; a figure is 0 while it is unknown.
    [[nodiscard]] protocol::SelfMeasured measured(Place place, TimePoint now);

 private:
    router::LineMeter& line(protocol::Leg leg) {
        return leg == protocol::Leg::Forward ? to_next_ : to_previous_;
    }

    router::LineMeter to_next_;
    router::LineMeter to_previous_;
    double forward_s_ = 0;
    double backward_s_ = 0;
    TimePoint free_at_ = swarm::kAtOnce;  // when the device had done its last job
};

}  // namespace stages

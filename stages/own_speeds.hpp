// What a stage server measures of itself for the coordinator's choice of codecs: how long its
// device works on a microbatch, and what its line takes while activations or gradients leave it.
// Threading: single strand. Cost: a few numbers per leg; no memory that grows.
#pragma once

#include "stages/line_meter.hpp"
#include "swarm/base/units.hpp"
#include "swarm/protocol/message.hpp"

#include <cstdint>

namespace stages {

using swarm::TimePoint;
namespace protocol = swarm::protocol;

class OwnSpeeds {
 public:
    /// A job that was given to the device at `given` is done; jobs are done in their order.
    void computed(protocol::Leg leg, TimePoint given, TimePoint now);

    [[nodiscard]] LineMeter::Generation sent(protocol::Leg leg, TimePoint now) {
        return line(leg).sent(now);
    }

    void arrived(
        protocol::Leg leg, std::uint64_t bytes, LineMeter::Generation sent_in, TimePoint now
    ) {
        line(leg).arrived(bytes, sent_in, now);
    }

    /// A new step, or something was lost.
    void forget_what_is_under_way() {
        to_next_.forget_what_is_under_way();
        to_previous_.forget_what_is_under_way();
    }

    /// `is_tail`: its forward leg is the whole microbatch.
    [[nodiscard]] protocol::SelfMeasured measured(bool is_tail, TimePoint now);

 private:
    LineMeter& line(protocol::Leg leg) {
        return leg == protocol::Leg::Forward ? to_next_ : to_previous_;
    }

    LineMeter to_next_;
    LineMeter to_previous_;
    double forward_s_ = 0;
    double backward_s_ = 0;
    TimePoint free_at_ = swarm::kAtOnce;  // the device
};

}  // namespace stages

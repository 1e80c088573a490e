// What a stage server measures of itself for the coordinator's choice of codecs: how long its
// device works on a microbatch, and what its line takes while activations or gradients leave it.
// A line is measured over whole busy periods, from the first tensor that leaves an idle line until
// all have been accepted, and the best of the last half minute counts: a period with few bytes is
// mostly delay. So a line with a long delay and little to do looks slower than it is.
// Threading: single strand. Cost: a few numbers per leg; no memory that grows.
#pragma once

#include "swarm/base/units.hpp"
#include "swarm/protocol/message.hpp"

#include <algorithm>
#include <cstdint>

namespace stages {

using swarm::TimePoint;
namespace protocol = swarm::protocol;

/// One way of a peer's line. What was under way when the step ended or something was lost counts
/// for nothing, also where it arrives later: a busy period would seem to be over too early.
class LineMeter {
 public:
    enum class Generation : std::uint32_t {};

    /// Returns what arrived() is to be told.
    [[nodiscard]] Generation sent(TimePoint now) {
        if (under_way_++ == 0) {
            began_ = now;
            bytes_ = 0;
        }
        return Generation{generation_};
    }

    void arrived(std::uint64_t bytes, Generation sent_in, TimePoint now);

    void forget_what_is_under_way() {
        under_way_ = 0;
        ++generation_;
    }

    /// 0: not measured in the last half minute or so.
    [[nodiscard]] double bytes_per_s(TimePoint now);

 private:
    static constexpr std::uint64_t kBytesMin = 64 << 10;
    static constexpr swarm::Duration kWindow = std::chrono::seconds(15);  // two of them count

    void turn_windows(TimePoint now);

    std::uint32_t under_way_ = 0;
    std::uint32_t generation_ = 0;
    std::uint64_t bytes_ = 0;
    TimePoint began_{};
    TimePoint window_began_{};
    double best_ = 0;         // of this window
    double best_before_ = 0;  // of the one before
};

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

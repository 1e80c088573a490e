// One direction of a peer's access line: the links share its rate.
// Invariants: work-conserving; control goes first and interrupts bulk, as packets of two
// connections mix; the links that have bulk waiting get equal shares, or as many as their weight
// says (processor sharing), and the frames of one link go one after the other.
// Service is counted per flow: each flow has been given `service_` since the line was last idle, so
// the frame that ends at service F is through after (F - service_) x flows / rate. Integers: no
// compiler rounds differently; when a flow comes or goes, less than 10^-9 bytes are lost.
// Units: bytes (kFrameBytesMax at most), bytes per second; 0: unlimited. Inside, 10^-9 bytes: the
// amount that a rate of 1 byte/s carries in a nanosecond. A frame is through after kLongest at the
// latest.
// Cost: O(flows) per bulk frame, O(1) per control frame; drop_bulk_if O(frames queued).
// Source: Kleinrock, Queueing Systems II (1976), section 4.4.
#pragma once

#include "swarm/base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace sim {

using swarm::Duration;
using swarm::TimePoint;

class Pipe {
 public:
    /// Names a link during one of its lives.
    using Flow = std::uint64_t;

    /// The largest frame. Code that lets a user choose the size of a frame has to refuse more.
    static constexpr std::uint64_t kFrameBytesMax = 16'000'000'000;
    /// The longest time that a frame takes: longer than any run; times beyond it would overflow.
    static constexpr Duration kLongest = std::chrono::hours(24 * 366 * 100);

    explicit Pipe(std::uint64_t bytes_per_s) : bytes_per_s_(bytes_per_s) {}

    /// Sets the rate. It counts at once for bulk; control frames that are being carried keep their
    /// time.
    void set_rate(std::uint64_t bytes_per_s, TimePoint now) {
        serve_until(now);
        bytes_per_s_ = bytes_per_s;
        rest_ = 0;
    }

    /// True when nothing waits in the line and nothing ever will.
    [[nodiscard]] bool is_open(TimePoint now) const {
        return bytes_per_s_ == 0 && active_ == 0 && control_free_at_ <= now;
    }

    /// Returns when a control frame that comes now is through.
    TimePoint pass_control(std::uint64_t bytes, TimePoint now);

    /// `weight`: the shares that the flow gets while it has frames, for one that stands for several
    /// links; the weight of its first frame counts.
    void add_bulk(
        Flow flow, std::uint32_t frame, std::uint64_t bytes, TimePoint now, std::uint32_t weight = 1
    );

    /// Lets the flow's frame, its only one, stand for one more frame of `bytes` on a link of its
    /// own: the flow gets one share more for each such frame that is not through. 0 bytes change
    /// nothing.
    void join_bulk(Flow flow, std::uint64_t bytes, TimePoint now);

    /// Returns when the next bulk frame will be through, as far as known now.
    [[nodiscard]] TimePoint bulk_done_at() const;

    /// Takes out the frame that bulk_done_at() was about; `now` is that time, or later.
    std::uint32_t take_bulk(TimePoint now);

    /// Forgets the bulk frames for which `is_lost(frame)`; where the frame being carried is lost,
    /// the next frame of its link begins anew.
    template <class IsLost>
    void drop_bulk_if(TimePoint now, IsLost is_lost) {
        serve_until(now);
        for (std::size_t i = active_; i > 0; --i) {
            Waiting& flow = flows_[i - 1];
            const std::uint32_t first = flow.frames.front().frame;
            std::erase_if(flow.frames, [&](const Queued& queued) { return is_lost(queued.frame); });
            if (flow.frames.empty()) {
                forget(i - 1);
            } else if (flow.frames.front().frame != first) {
                begin(flow, service_);
            }
        }
    }

    /// Calls visit(frame) for each bulk frame that has become the first of its link since the last
    /// call: its first byte is carried from now on.
    template <class Visit>
    void visit_begun(Visit visit) {
        for (std::size_t i = 0; i < begun_frames_.size(); ++i) {
            visit(begun_frames_[i]);
        }
        begun_frames_.clear();
    }

    TimePoint armed_for = swarm::kNever;  // the time at which the world looks at it

 private:
    struct Queued {
        std::uint32_t frame;
        std::uint64_t bytes;
    };

    struct Waiting {
        Flow name = 0;
        std::uint64_t done_at_service = 0;  // when its first frame is done
        std::uint64_t order = 0;            // breaks ties: the flow that began first
        std::uint32_t weight = 1;
        std::deque<Queued> frames{};
    };

    [[nodiscard]] Duration time_for(std::uint64_t bytes) const;
    [[nodiscard]] std::size_t next() const;
    /// The flow among those that have frames; end_of_active() if it has none.
    [[nodiscard]] std::vector<Waiting>::iterator find_active(Flow name);

    [[nodiscard]] std::vector<Waiting>::iterator end_of_active() {
        return flows_.begin() + static_cast<std::ptrdiff_t>(active_);
    }

    void serve_until(TimePoint now);
    void begin(Waiting& flow, std::uint64_t at);
    void forget(std::size_t index);
    void rebase();

    std::uint64_t bytes_per_s_;
    TimePoint control_free_at_{};
    TimePoint served_until_{};   // bulk has got its service up to this time
    std::uint64_t service_ = 0;  // parts of a byte, per flow
    std::uint64_t rest_ = 0;     // remainder of the last division by the number of flows
    std::uint64_t begun_ = 0;    // number of frames that ever began
    std::vector<std::uint32_t> begun_frames_;  // frames that began since visit_begun()
    std::uint64_t weights_ = 0;                // sum over the flows that have frames
    std::size_t active_ = 0;      // flows_[0, active_) have frames; the others keep their memory
    std::vector<Waiting> flows_;  // in any order
};

}  // namespace sim

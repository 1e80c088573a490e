// One stage of unequal peers behind a HopRouter, on virtual time: the yardstick for the policies.
// A peer works on its queue in order; a microbatch that is not PASSED within kPatience is reported
// to the router, recalled and launched again as a new attempt. Deterministic.
#pragma once

#include "router/hop_router.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <vector>

namespace router {

class OneStage {
 public:
    /// A forward of the tail counts as three units of work (step protocol, section 3).
    static constexpr double kUnits = 3;
    static constexpr Duration kPatience = std::chrono::seconds(10);

    OneStage(std::string_view policy, const std::vector<int>& ms_per_unit, std::size_t in_flight);

    void set_speed(std::size_t peer, int ms_per_unit) { peers_[peer].ms_per_unit = ms_per_unit; }

    /// A frozen peer neither works nor answers.
    void set_frozen(std::size_t peer, bool frozen);

    /// Launches so many microbatches, runs until all are done, and returns the seconds that it
    /// took.
    double run(int microbatches);

    /// Every pick since the start, as the index of the peer.
    [[nodiscard]] const std::vector<std::size_t>& picks() const { return picks_; }

    [[nodiscard]] int picks_of(std::size_t peer, std::size_t begin, std::size_t end) const;

 private:
    struct Work {
        LegId leg;
        TimePoint sent;
    };

    struct Peer {
        int ms_per_unit = 0;
        bool frozen = false;
        std::deque<Work> queue;
        TimePoint done_at = swarm::kNever;  // when the first in the queue is done
    };

    static SlotId slot_of(std::size_t peer) { return {peer + 1}; }

    void launch();
    void step();
    void start_next(Peer& peer);
    void finish_first(std::size_t peer);
    void recall_overdue(std::size_t peer);
    [[nodiscard]] TimePoint next_event_at() const;

    HopRouter router_;
    std::vector<Peer> peers_;
    std::size_t in_flight_max_;
    std::size_t in_flight_ = 0;
    int to_launch_ = 0;
    std::uint64_t attempts_ = 0;
    TimePoint now_{};
    std::vector<std::size_t> picks_;
};

}  // namespace router

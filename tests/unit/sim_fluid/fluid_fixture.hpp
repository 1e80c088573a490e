// A small fleet whose figures are easy to compute: each peer does one microbatch per second.
#pragma once

#include "sim/scenario/schedule.hpp"

#include <cstdint>
#include <utility>

namespace sim::test {

inline TimePoint at_s(double seconds) {
    return TimePoint{} + Duration(static_cast<Duration::rep>(seconds * 1e9));
}

struct FluidFixture {
    explicit FluidFixture(std::uint32_t peers = 4, std::uint32_t stages = 2) {
        scenario.mode = Mode::Fluid;
        scenario.duration = std::chrono::seconds(1'000);
        scenario.regions.latency = {{Duration{}}};
        scenario.pipeline.stages = stages;
        scenario.pipeline.microbatches = 1'000;
        scenario.pipeline.in_flight = 100;
        scenario.pipeline.work_units = 1;
        for (std::uint32_t number = 1; number <= peers; ++number) {
            add_peer(3);
        }
    }

    FleetPeer& add_peer(double units_per_s, bool there_at_start = true) {
        FleetPeer peer;
        peer.number = static_cast<std::uint32_t>(schedule.fleet.size()) + 1;
        peer.units_per_s = units_per_s;
        peer.there_at_start = there_at_start;
        schedule.fleet.push_back(peer);
        return schedule.fleet.back();
    }

    void happens(double seconds, std::uint32_t peer, Happening::Kind kind, double factor = 1) {
        schedule.happenings.push_back({at_s(seconds), peer, kind, 0, factor});
    }

    Scenario scenario;
    Schedule schedule;
};

}  // namespace sim::test

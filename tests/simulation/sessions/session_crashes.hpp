// Runs one request once for each of its events, with a crash of a peer before that event.
#pragma once

#include "tests/simulation/sessions/session_bed.hpp"

#include <gtest/gtest.h>

namespace sim {

/// The number of the event chooses the peer, so that every peer crashes in some runs. Returns the
/// number of failovers.
inline std::size_t moves_under_crashes(
    SessionBedOptions options, const node::SessionRequest& request
) {
    SessionBed calm(options);
    calm.ask(request);
    EXPECT_TRUE(calm.run());
    std::size_t moves = 0;
    for (std::uint64_t at = 0; at < calm.world().events(); ++at) {
        SessionBed bed(options);
        bed.ask(request);
        bed.world().run_until([&] { return bed.world().events() >= at; }, std::chrono::seconds(60));
        bed.world().crash(peer(1 + at % bed.servers()));
        bed.run();
        EXPECT_EQ(bed.verdict(), "") << "event " << at;
        EXPECT_TRUE(bed.told(1).dropped.empty()) << "event " << at;
        moves += bed.told(1).moves.size();
    }
    return moves;
}

}  // namespace sim

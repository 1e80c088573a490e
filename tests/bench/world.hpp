// Measures the speed of the simulated world with many small roles that do next to nothing.
// The bare heap loop is the least that any world must do for an event: one push, one pop.
#pragma once

#include <cstddef>
#include <cstdint>

namespace swarm::bench {

struct WorldFigures {
    std::size_t peers = 0;
    std::uint64_t events = 0;
    double events_per_s = 0;
    double heap_loop_per_s = 0;  // push and pop among as many pending items
    double ratio = 0;            // events_per_s / heap_loop_per_s
    std::uint64_t trace_hash = 0;
};

/// Every peer beats to four others over control links, each beat is answered; takes about 2 s.
WorldFigures measure_world(std::size_t peers);

}  // namespace swarm::bench

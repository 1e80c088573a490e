// Measures one pick among 1,000 open peers, per policy.
// Unit: ns per pick; each figure is the median of kPickRounds rounds of kPicksPerRound picks.
#pragma once

namespace swarm::bench {

inline constexpr int kPickPeers = 1000;
inline constexpr int kPickRounds = 9;
inline constexpr int kPicksPerRound = 20'000;

struct PickFigures {
    double iwrr_ns = 0;
    double expected_finish_ns = 0;
};

PickFigures measure_pick();

}  // namespace swarm::bench

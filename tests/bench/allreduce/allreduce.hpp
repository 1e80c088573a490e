// The cost of adding up gradients: our reduction beside the bytes alone, and beside gloo and
// hivemind where Python has them. Four processes on loopback, in turns in one run.
//   ours: reduce_group, exact sums over TLS · link: raw_group, the same bytes over plain TLS
//   gloo, hivemind: their scripts in tests/bench/baselines, fp32 in plain text
// Units: seconds, medians of the rounds; ratios: medians of the ratios of neighbours.
// Errors: the two groups' errors; a script that is there and fails is Malformed.
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace swarm::bench {

inline constexpr std::uint32_t kReducers = 4;
/// Largest gradient: int64 up and fp32 down of its largest slice stay below the protocol's bound of
/// a frame.
inline constexpr std::uint32_t kReducedMibMax = 256;

struct AllreduceFigures {
    double seconds = 0;
    double link_seconds = 0;
    double ratio_to_link = 0;  // link over ours
    std::optional<double> gloo_seconds;
    std::optional<double> ratio_to_gloo;  // ours over gloo
    std::optional<double> hivemind_seconds;
    std::optional<double> hivemind_to_gloo;
    std::size_t mib_on_wire = 0;  // one round, all processes
};

/// `python`: the interpreter; the baselines run whose packages it has.
Result<AllreduceFigures> measure_allreduce(
    std::uint32_t mib, std::size_t rounds, const std::string& python
);

}  // namespace swarm::bench

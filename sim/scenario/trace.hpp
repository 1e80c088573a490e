// A trace of peers that came and went, as CSV: "seconds,peer,join|leave|crash" per line, in order
// of time. A first line of that text, empty lines, and lines that begin with # are skipped.
// Invariant: the result contradicts nothing: each peer is one of the fleet, and comes and goes in
// turns. A peer that first joins is not there at the start.
// Private to sim/scenario. Errors: Usage, one line with file and line. Cost: O(lines).
#pragma once

#include "sim/scenario/schedule.hpp"

#include <istream>
#include <string>
#include <vector>

namespace sim {

swarm::Result<std::vector<Happening>> read_trace(
    std::istream& in, const std::string& file, std::uint32_t peers
);

}  // namespace sim

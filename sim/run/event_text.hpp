// Writes one event of a run as one line, for people who replay a seed.
// Threading: none. Cost: a few small strings.
#pragma once

#include "sim/world.hpp"

#include <string>

namespace sim {

/// Returns "    12.345678 peer 3: Received Forward step 4 microbatch 7 attempt 1.2 from peer 1".
std::string event_text(TimePoint at, PeerId peer, const node::Event& event);

}  // namespace sim

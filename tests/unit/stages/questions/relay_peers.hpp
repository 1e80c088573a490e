// Peers of a run for the tests of what a server passes on: the server itself, and one above it.
#pragma once

#include "swarm/base/ids.hpp"

namespace stages::test {

inline constexpr swarm::PeerId kSelf{{50}};
inline constexpr swarm::PeerId kAbove{{70}};

}  // namespace stages::test

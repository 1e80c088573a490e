// Two peers of a run.
#pragma once

#include "swarm/base/ids.hpp"

namespace swarm::cli::test {

inline constexpr PeerId kAnna{{1, 0, 0, 0}};
inline constexpr PeerId kBert{{2, 0, 0, 0}};

}  // namespace swarm::cli::test

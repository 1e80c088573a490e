// The names of peers in the checker's texts.
#pragma once

#include "sim/peer.hpp"

#include <string>

namespace sim {

inline std::string name_of(PeerId peer) {
    return "peer " + std::to_string(peer.words[0]);
}

}  // namespace sim

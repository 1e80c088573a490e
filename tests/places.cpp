#include "tests/places.hpp"

namespace swarm::test {

std::string source_dir() {
    return SWARM_SOURCE_DIR;
}

std::string program_dir() {
    return SWARM_PROGRAM_DIR;
}

}  // namespace swarm::test

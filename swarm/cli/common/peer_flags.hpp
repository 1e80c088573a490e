// Flags of a process that others dial: `serve` has all of them, `directory` some.
#pragma once

#include "swarm/base/units.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace swarm::cli {

struct PeerFlags {
    std::string listen;         // host:port of the first seat; the next seats take the next ports
    std::string advertise{};    // address that others dial instead; empty: it is found out
    std::string dial_from{};    // an address of this machine; empty: the system chooses
    bool dial_private = false;  // addresses of private networks that others name, on any run
    std::string key_file{};     // empty: a new identity
    std::string swarm_key_file{};
    std::uint32_t seats = 1;
    std::uint64_t limit_up_bytes_per_s = 0;  // for all seats together; 0: none
    std::uint64_t limit_down_bytes_per_s = 0;
    std::uint32_t service_ms = 0;  // time for which each forward is held; 0: none
    /// Longest time between two status lines where there is no terminal.
    Duration log_every = std::chrono::seconds(60);
};

}  // namespace swarm::cli

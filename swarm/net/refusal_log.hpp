// Decides which refused connections get a line in the log, so that a peer that dials again and
// again with a wrong key does not fill it: the first refusal of an address gets a line, and later
// ones get at most one line per kPause, with their number.
// Bound: kAddressesMax addresses; while all of them are fresh, another address gets no line.
// Threading: one thread. Cost: O(log addresses) per refusal, O(addresses) when the table is full.
#pragma once

#include "swarm/base/units.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace swarm::net {

class RefusalLog {
 public:
    static constexpr Duration kPause = std::chrono::seconds(30);
    static constexpr std::size_t kAddressesMax = 256;

    /// Counts a connection from the address that was turned away. Returns the line to log, if any.
    std::optional<std::string> note(
        const std::string& address, const std::string& reason, TimePoint now
    );

 private:
    struct Refusals {
        TimePoint said_at;         // time of the last line
        std::uint64_t unsaid = 0;  // refusals after that line
    };

    std::map<std::string, Refusals> addresses_;
};

}  // namespace swarm::net

// Slow and long lines on one machine, for `swarm local` and tests: a TCP proxy in front of each
// process holds bytes back. A connection shares the rates of the lines at its two ends with all
// connections there, and its bytes arrive `delay` later, unchanged. A line belongs to the process
// that listens behind it and dials from `source`; a process that dials from elsewhere has a line
// without bound. The model is that of sim/world, except for TCP's slow start and kernel buffers.
// Invariants: bytes arrive whole and in order; an end or break of one side reaches the other side
// `delay` later. At most kUnderWayBytesMax of a connection are under way; a full connection is not
// read, as with a real line.
// Threading: a thread of its own; all calls from one thread. Linux only: all of 127.0.0.0/8 is
// loopback there. Errors: Unreachable (Fatal).
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/base/units.hpp"
#include "swarm/net/address.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace swarm::net {

class EmulatedLines {
 public:
    static constexpr std::size_t kUnderWayBytesMax = 64ULL << 20;
    static constexpr std::size_t kLinesMax = 10'000;

    /// Rates of the two ways; 0 is no bound.
    struct Line {
        std::uint64_t up_bytes_per_s = 0;
        std::uint64_t down_bytes_per_s = 0;
    };

    struct Ends {
        Address front;       // others dial this address
        Address back;        // the process listens on this address
        std::string source;  // the process dials from this address
    };

    /// `delay` is the time of one way between any two processes.
    explicit EmulatedLines(Duration delay);
    EmulatedLines(const EmulatedLines&) = delete;
    EmulatedLines& operator=(const EmulatedLines&) = delete;
    ~EmulatedLines();

    /// Adds a line for a process that has not started yet.
    Result<Ends> add(Line line);
    /// Adds a line without bound for a process that listens already. Returns the address that
    /// others dial.
    Result<Address> add_front(const Address& back);

    /// Returns how many bytes the line of that source has taken in.
    [[nodiscard]] std::uint64_t received_bytes(const std::string& source);

    /// Cuts the open connection that `draw` chooses, if there is one; both sides see a TCP reset.
    void cut_one(std::uint64_t draw);

 private:
    class Core;
    std::unique_ptr<Core> core_;
};

}  // namespace swarm::net

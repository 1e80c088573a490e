// Slow and long lines on one machine, for `swarm local` and the tests: TCP proxies, one in front of
// each process, that hold back what passes. A connection shares the rate of the lines at both of
// its ends with all others there, and its bytes come `delay` later; what it carries is not touched.
// A line is that of the process that listens behind it and dials from `source`; whoever dials from
// elsewhere has a line without bound. The model is that of sim/world, but for TCP's own beginning
// and what lies in the kernel's buffers.
// Invariants: bytes come whole and in order; a side that ends or breaks does so on the other side,
// `delay` later. At most kUnderWayBytesMax of a connection are on their way; a full one stops being
// read, as a real one would.
// Threading: a thread of its own; all calls from one thread. Linux: all of 127.0.0.0/8 is loopback.
// Errors: Unreachable (Fatal).
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

    /// Each way; 0: no bound.
    struct Line {
        std::uint64_t up_bytes_per_s = 0;
        std::uint64_t down_bytes_per_s = 0;
    };

    struct Ends {
        Address front;       // what others dial
        Address back;        // where the process listens
        std::string source;  // what it dials from
    };

    /// `delay`: one way, between any two.
    explicit EmulatedLines(Duration delay);
    EmulatedLines(const EmulatedLines&) = delete;
    EmulatedLines& operator=(const EmulatedLines&) = delete;
    ~EmulatedLines();

    /// For a process that has not started yet.
    Result<Ends> add(Line line);
    /// For one that listens already, on a line without bound. What others dial.
    Result<Address> add_front(const Address& back);

    /// What the line of that source has taken in so far.
    [[nodiscard]] std::uint64_t received_bytes(const std::string& source);

    /// Cuts the connection that `draw` chooses among those under way, if any, without a word to
    /// either side but TCP's reset.
    void cut_one(std::uint64_t draw);

 private:
    class Core;
    std::unique_ptr<Core> core_;
};

}  // namespace swarm::net

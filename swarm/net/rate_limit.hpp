// A bound on the bytes per second that all links of a process send, or receive: a token bucket that
// may go into debt by one piece.
// Invariant: over any time t, at most rate x t bytes pass on the bulk lane, and kBurst x rate and a
// piece of each link more. The control lane never waits, because a heartbeat that is late looks
// like a death; the bulk lane pays for its bytes. Pieces pass in the order in which they were asked
// for, so links that always ask for a piece share the rate evenly.
// Threading: one thread. Units: bytes; times of clock_now(). Errors: none. Cost: constant.
#pragma once

#include "swarm/base/units.hpp"
#include "swarm/protocol/frame.hpp"

#include <cstddef>
#include <cstdint>

namespace swarm::net {

/// Rates below this one would let a link stall: see Link::Terms::stall_timeout.
inline constexpr std::uint64_t kLimitedBytesPerSMin = 8'000;

class RateLimit {
 public:
    /// Time for whose bytes an idle line may pass at once.
    static constexpr Duration kBurst = std::chrono::milliseconds(20);

    /// 0: there is no bound. Else at least kLimitedBytesPerSMin.
    explicit RateLimit(std::uint64_t bytes_per_s) : bytes_per_s_(bytes_per_s) {}

    /// Takes `bytes` of the lane, and returns the time from which they may pass; `now` or later.
    TimePoint pass(std::size_t bytes, protocol::Lane lane, TimePoint now);

    /// Returns the maximum bytes that a link of the bulk lane should ask for at once.
    [[nodiscard]] std::size_t piece_bytes() const;

    /// Returns the size of a socket's receive buffer with which the sender feels the bound: the
    /// system takes as many bytes from the line before anybody asks for them.
    [[nodiscard]] int receive_buffer_bytes() const;

 private:
    std::uint64_t bytes_per_s_;
    TimePoint free_at_{};  // when all bytes taken so far have passed
};

}  // namespace swarm::net

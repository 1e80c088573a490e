#include "swarm/net/rate_limit.hpp"

#include <algorithm>

namespace swarm::net {
namespace {

/// The time for which a piece keeps the line busy. Pieces that take less cost more wake-ups.
constexpr auto kPieceTime = std::chrono::milliseconds(10);
constexpr std::size_t kPieceBytesMin = 1'500;
constexpr std::size_t kPieceBytesMax = 256U << 10;

/// Long enough for the lines of other continents.
constexpr auto kBufferedTime = std::chrono::milliseconds(250);
constexpr double kReceiveBufferMin = 32U << 10;
constexpr double kReceiveBufferMax = 8U << 20;

}  // namespace

TimePoint RateLimit::pass(std::size_t bytes, protocol::Lane lane, TimePoint now) {
    if (bytes_per_s_ == 0) {
        return now;
    }
    const std::chrono::duration<double> busy(
        static_cast<double>(bytes) / static_cast<double>(bytes_per_s_)
    );
    const TimePoint begin = std::max(free_at_, now - kBurst);
    free_at_ = begin + std::chrono::duration_cast<Duration>(busy);
    return lane == protocol::Lane::Control ? now : std::max(begin, now);
}

std::size_t RateLimit::piece_bytes() const {
    if (bytes_per_s_ == 0) {
        return kPieceBytesMax;
    }
    const double bytes =
        static_cast<double>(bytes_per_s_) * std::chrono::duration<double>(kPieceTime).count();
    return static_cast<std::size_t>(
        std::clamp(bytes, static_cast<double>(kPieceBytesMin), static_cast<double>(kPieceBytesMax))
    );
}

int RateLimit::receive_buffer_bytes() const {
    const double bytes =
        static_cast<double>(bytes_per_s_) * std::chrono::duration<double>(kBufferedTime).count();
    return static_cast<int>(std::clamp(bytes, kReceiveBufferMin, kReceiveBufferMax));
}

}  // namespace swarm::net

// The cost of a link over loopback, between two threads.
// Rate: frames of 4 MiB over a Link against the same bytes through asio::ssl::stream with the same
// TLS context, in turns; the ratio is the median of kLinkRounds ratios of neighbours.
// Heartbeats: delay on the control lane while the bulk lane is full; both lanes share their threads
// with the bulk lane, as in a host.
// Transfer: activations of 4 MiB of fp32, encoded by the sending thread, decoded by the receiving
// one, with and without a codec in turns; the ratio as above.
// Units: bytes per second, milliseconds.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace swarm::bench {

inline constexpr int kLinkRounds = 7;
inline constexpr int kFramesPerRound = 24;
inline constexpr std::size_t kFrameBytes = 4U << 20;
inline constexpr int kHeartbeats = 400;

struct LinkFigures {
    double framed_bytes_per_s = 0;
    double raw_bytes_per_s = 0;
    double framed_to_raw = 0;
    double heartbeat_p50_ms = 0;
    double heartbeat_p99_ms = 0;
};

LinkFigures measure_link();

struct TransferRow {
    std::string codec;
    double bytes_per_s = 0;  // fp32 bytes
    double over_none = 0;
};

/// Measures every codec that serves activations.
std::vector<TransferRow> measure_transfers();

}  // namespace swarm::bench

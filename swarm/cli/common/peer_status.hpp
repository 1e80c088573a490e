// The status line of a peer that serves a run: what it does, what has come of it, and the rates of
// its line. On a terminal each report gives a line, which is redrawn in place; elsewhere one is due
// when the peer does something else, and every `log_every`.
// Threading: one thread. Cost: O(1) per report.
#pragma once

#include "swarm/base/units.hpp"
#include "swarm/node/report.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace swarm::cli {

class PeerStatus {
 public:
    enum class On : std::uint8_t { Terminal, File };

    /// Bytes of the peer's links since it started.
    struct Traffic {
        std::uint64_t sent_bytes = 0;
        std::uint64_t received_bytes = 0;
    };

    PeerStatus(On on, Duration log_every) : on_(on), log_every_(log_every) {}

    /// Returns the line to show, if one is due.
    std::optional<std::string> line_of(
        const node::ServerStatus& status, const Traffic& traffic, TimePoint now
    );

 private:
    void measure(const Traffic& traffic, TimePoint now);

    On on_;
    Duration log_every_;
    std::string said_;  // the last text that was shown
    TimePoint said_at_{};
    Traffic before_{};
    TimePoint measured_at_ = kNever;
    double up_bits_per_s_ = 0;
    double down_bits_per_s_ = 0;
};

}  // namespace swarm::cli

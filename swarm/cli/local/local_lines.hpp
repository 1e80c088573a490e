// The lines between the processes of `swarm local`: as --line-rate, --line-delay and --cut-every
// say, or plain loopback without them. See swarm/net/emulated_lines.hpp.
// Threading: the loop's thread. Errors: Unreachable (Fatal).
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/options.hpp"
#include "swarm/net/emulated_lines.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

class LocalLines {
 public:
    explicit LocalLines(const LocalOptions& options);

    struct Place {
        std::vector<std::string> serve_flags;  // the same whenever the peer starts again
        std::uint64_t bytes_per_s = 0;         // each way; 0: no bound
    };

    /// Of one more peer.
    Result<Place> next_place();
    /// What others dial to reach a coordinator or directory that listens at `address`.
    Result<std::string> in_front_of(const std::string& address);

    void cut_one(std::uint64_t draw);

 private:
    std::vector<std::uint64_t> bytes_per_s_;  // by peer, from the start again when too short
    std::size_t peers_ = 0;
    std::optional<net::EmulatedLines> lines_;  // none: plain loopback
};

}  // namespace swarm::cli

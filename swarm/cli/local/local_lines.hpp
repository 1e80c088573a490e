// The lines between the processes of `swarm local`, as --line-rate, --line-delay and --cut-every
// say; plain loopback without these flags. See swarm/net/emulated_lines.hpp.
// Threading: the loop's thread. Errors: Unreachable (Fatal).
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/local/local.hpp"
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
        std::vector<std::string> serve_flags;  // the same at each start of the peer
        std::uint64_t bytes_per_s = 0;         // each way; 0: no bound
    };

    /// Returns the place of one more peer.
    Result<Place> next_place();
    /// Returns the address that others dial to reach a coordinator or directory at `address`.
    Result<std::string> in_front_of(const std::string& address);

    void cut_one(std::uint64_t draw);

 private:
    std::vector<std::uint64_t> bytes_per_s_;  // by peer; repeated from the start when too short
    std::size_t peers_ = 0;
    std::optional<net::EmulatedLines> lines_;  // none: plain loopback
};

}  // namespace swarm::cli

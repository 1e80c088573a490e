// The file with the secret that the peers of a private run share.
// Invariant: a key that others on this machine can read, or that can be guessed, is refused and not
// merely warned of: whoever answers a dial in the place of a peer could try keys without limit.
// Errors: NotFound, TooLarge, Usage (Reject). Cost of reading: some 0.1 s and 32 MiB for a moment.
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <string>

namespace swarm::cli {

/// Characters of a key, at least: 128 bits in base64.
inline constexpr std::size_t kSwarmKeyLeast = 22;

/// Returns the secret that the key file stands for (net::stretch_swarm_key of its content without
/// the white space at its end); empty for an empty name.
Result<std::string> read_swarm_key(const std::string& file);

/// Makes the file with a key of 128 random bits, for this user alone. A file that is there stays.
Result<> write_new_swarm_key(const std::string& file);

}  // namespace swarm::cli

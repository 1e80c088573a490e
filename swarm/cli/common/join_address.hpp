// The text after --join, as people type or paste it: [NAME@]HOST[:PORT]. NAME says who must answer
// there: the owner of the run or directory, or the process itself, by the first 26 or by all 52
// digits of an id (swarm/net/identity.hpp).
// Threading: pure functions. Errors: Usage for a NAME that is none. A text that is no address stays
// as it is, and its reader says so.
#pragma once

#include "swarm/base/result.hpp"

#include <cstdint>
#include <string>

namespace swarm::cli {

/// Ports on which `swarm train` and `swarm directory` listen if nobody chooses another one.
inline constexpr std::uint16_t kCoordinatorPort = 7117;
inline constexpr std::uint16_t kDirectoryPort = 7118;

/// Whom --join expects at its address.
struct ExpectedOwner {
    std::string name;     // 26 or 52 digits in lower case; empty: whoever answered there before
    bool forget = false;  // --forget: it may be another one than before
};

struct JoinTarget {
    std::string name;  // empty: the text has none
    std::string addresses;
};

/// Splits the text, and gives each address a port as with_port() does.
Result<JoinTarget> parse_join(const std::string& text, std::uint16_t port);

/// Returns the addresses, which commas separate, each with a port: its own one or `port`.
std::string with_port(const std::string& addresses, std::uint16_t port);

}  // namespace swarm::cli

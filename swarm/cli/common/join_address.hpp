// The address after --join, as people type it: a host, or a host and a port.
// Threading: pure functions. Errors: none; a text that is no address stays as it is, and its reader
// says so.
#pragma once

#include <cstdint>
#include <string>

namespace swarm::cli {

/// Ports on which `swarm train` and `swarm directory` listen if nobody chooses another one.
inline constexpr std::uint16_t kCoordinatorPort = 7117;
inline constexpr std::uint16_t kDirectoryPort = 7118;

/// Returns the addresses, which commas separate, each with a port: its own one or `port`.
std::string with_port(const std::string& addresses, std::uint16_t port);

}  // namespace swarm::cli

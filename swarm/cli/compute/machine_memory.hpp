// The memory that this process may have: the least of the machine's, of what its control groups
// allow (versions 1 and 2), and of `ulimit -v` and `-d`.
// Threading: any thread. Errors: none; a bound that cannot be read is none. Units: bytes.
// Cost: a few small files of /proc and /sys.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace swarm::cli {

std::uint64_t machine_memory_bytes();

/// Returns the tighter one of `ulimit -v` and `-d`, UINT64_MAX without them. It takes no memory.
std::uint64_t memory_of_ulimit();

/// Returns the least bound of the group and of those above it, from files of this name; nullopt:
/// there is none. `root`: where the groups are mounted. `group`: as in /proc/self/cgroup.
std::optional<std::uint64_t> memory_of_group(
    const std::filesystem::path& root,
    const std::filesystem::path& group,
    const std::string& file_name
);

}  // namespace swarm::cli

// Files and folders that verbs read and write for a person.
// Errors: NotFound, TooLarge, Usage (Reject); StorageFailed (Fatal): one line each.
// Threading: none.
#pragma once

#include "swarm/base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace swarm::cli {

class Console;

Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t bytes_max);

/// Reads standard input to its end, without the line feed that ends a text file.
Result<std::string> read_standard_input(std::uint64_t bytes_max);

/// Writes a report, which may go to a pipe or a device and is not synced; on failure prints a line
/// and returns false. A file that somebody relies on is written by swarm/base/durable_file.hpp.
[[nodiscard]] bool write_text(Console& console, const std::string& file, const std::string& text);

/// Returns the folder in which ./swarm.sh and `swarm model fetch` keep what they download:
/// $SWARM_DEPS, or swarm below the user's cache.
std::filesystem::path cache_folder();

/// Returns the folder with the files that come with the program: its own, or PREFIX/share/swarm
/// where it is installed as PREFIX/bin/swarm.
std::filesystem::path program_folder();

}  // namespace swarm::cli

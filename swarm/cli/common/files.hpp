// Files and folders that verbs read and write for a person.
// Errors: NotFound, TooLarge, Usage (Reject); StorageFailed (Fatal): one line each.
// Threading: none.
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace swarm::cli {

class Console;

Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t bytes_max);

/// Reads standard input to its end, without the line feed that ends a text file.
Result<std::string> read_standard_input(std::uint64_t bytes_max);

/// Writes the text; on failure prints a line and returns false.
[[nodiscard]] bool write_text(Console& console, const std::string& file, const std::string& text);

/// Writes the whole file, or leaves what was there.
Result<> write_whole(const std::filesystem::path& file, std::span<const std::byte> bytes);

/// Returns the folder in which ./swarm.sh and `swarm model fetch` keep what they download:
/// $SWARM_DEPS, or swarm below the user's cache.
std::filesystem::path cache_folder();

/// Returns the folder with the files that come with the program: its own, or PREFIX/share/swarm
/// where it is installed as PREFIX/bin/swarm.
std::filesystem::path program_folder();

}  // namespace swarm::cli

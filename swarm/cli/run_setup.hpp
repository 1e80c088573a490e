// From the command line to a run that can start: the configuration, and the files around it.
// Errors: Usage, NotFound, Malformed (Reject): one line each, exit code 3.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/options.hpp"
#include "swarm/run/config.hpp"

#include <filesystem>
#include <string>

namespace swarm::cli {

/// flag > TOML > default, then checked. An empty name: no file.
Result<run::RunConfig> resolve_run(const std::filesystem::path& run_file, const RunFlags& flags);

/// Where ./swarm.sh and `swarm model fetch` keep what they download: $SWARM_DEPS, or swarm below
/// the user's cache.
std::filesystem::path cache_folder();

Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t bytes_max);

/// The content of a key file without white space at its end; empty for an empty name.
Result<std::string> read_swarm_key(const std::string& file);

/// Where a run keeps what it was asked to do, for --resume.
inline constexpr const char* kRunFileName = "run.toml";

}  // namespace swarm::cli

// A folder of states or targets on disk (stacking/composition/alignment/state_shard).
// Invariant: a shard appears whole, and the manifest after all shards; both survive a power cut.
// Threading: one thread. Errors: NotFound, Malformed, Mismatch, TooLarge (Reject), StorageFailed
// (Fatal): one line that names the file. Memory: a shard, twice while it is read.
#pragma once

#include "stacking/composition/alignment/state_shard.hpp"
#include "swarm/base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace swarm::cli {

Result<stacking::composition::StateShard> read_shard(
    const std::filesystem::path& folder, std::uint32_t number
);

/// Reads the manifest of a whole folder of this kind.
Result<stacking::composition::StateManifest> read_state_manifest(
    const std::filesystem::path& folder, stacking::composition::StateKind kind
);

/// Whether the folder has the shard already, of a command that was ended. Mismatch: it is about
/// other tokens.
Result<bool> has_shard(
    const std::filesystem::path& folder,
    std::uint32_t number,
    const stacking::composition::StateShard& wanted
);

Result<> write_shard(
    const std::filesystem::path& folder,
    std::uint32_t number,
    const stacking::composition::StateShard& shard
);

Result<> write_state_manifest(
    const std::filesystem::path& folder, const stacking::composition::StateManifest& manifest
);

/// Begins a folder, or goes on with one that was begun with the same settings and is not whole.
/// Usage: other files are there, or other settings. `settings`: one line that says all on which the
/// shards depend, beside their tokens.
Result<> begin_states(const std::filesystem::path& folder, const std::string& settings);

}  // namespace swarm::cli

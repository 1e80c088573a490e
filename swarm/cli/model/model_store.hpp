// Models that have a name: where they come from, and where they lie in the cache.
// Invariant: a file under its final name is whole and has the pinned SHA-256: it is checked before
// it is renamed into place, so that a broken download is never taken for a model.
// Threading: the main thread. Errors: Usage (no such name), NotFound (not fetched), Unreachable,
// Malformed (another SHA-256), StorageFailed: one line each.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/console.hpp"

#include <filesystem>
#include <string>

namespace swarm::cli {

/// "smollm2"
std::string fetchable_models();

/// A path that is there, or the name of a model that has been fetched.
Result<std::filesystem::path> find_model(const std::string& path_or_name);

/// Its file in the cache; downloads nothing when a good one is there.
Result<std::filesystem::path> fetch_named_model(const std::string& name, Console& console);

}  // namespace swarm::cli

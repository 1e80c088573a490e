// Models that have a name: their sources, and their places in the cache.
// Invariant: a file under its final name is whole and has the pinned SHA-256: it is checked before
// it is renamed into place, so that a broken download is never taken for a model.
// Threading: the main thread. Errors: Usage (no such name), NotFound (not fetched), Unreachable,
// Malformed (another SHA-256), StorageFailed: one line each.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/result.hpp"
#include "swarm/cli/terminal/console.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace swarm::cli {

/// Returns the names, with commas between them: "smollm2".
std::string fetchable_models();

/// Finds a path that exists, or the file of a named model that has been fetched.
Result<std::filesystem::path> find_model(const std::string& path_or_name);

/// The digests by which peers know a model, and by which its files can be taken from them.
struct NamedDigests {
    std::string name;
    Digest model;
    std::optional<Digest> files{};  // the digest of its files' manifest; none: not known
};

/// `name`: a named model, or the 64 hexadecimal digits of a model's digest. Nothing: neither.
std::optional<NamedDigests> digests_of(const std::string& name);

/// Reads 64 hexadecimal digits.
std::optional<Digest> parse_digest(std::string_view text);

/// Returns the file of the named model in the cache; downloads it unless a good one is there.
Result<std::filesystem::path> fetch_named_model(const std::string& name, Console& console);

}  // namespace swarm::cli

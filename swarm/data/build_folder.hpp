// The folder of a build: who may write there, and what is there already.
// Invariant: while the object lives, no other build writes to the folder.
// Threading: one thread. Errors: Usage (in use; not empty; Reject), Mismatch (another build's),
// Malformed (a damaged shard), StorageFailed (Fatal). Private to swarm/data.
#pragma once

#include "swarm/base/durable_file.hpp"
#include "swarm/base/result.hpp"
#include "swarm/data/data_file.hpp"
#include "swarm/data/encoder.hpp"
#include "swarm/data/input_files.hpp"
#include "swarm/data/shard.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace swarm::data {

/// Parts of a build that may not change before it has ended, each with its name for people.
using BuildParts = std::vector<std::pair<std::string, Digest>>;

BuildParts parts_of_build(
    const DataFile& data, const Encoder& encoder, const std::vector<InputFiles>& inputs
);

class BuildFolder {
 public:
    /// Makes the folder, or finds it with the same build.
    static Result<BuildFolder> open(const std::filesystem::path& path, const BuildParts& parts);

    /// Returns the headers of the whole shards of a source, in order.
    [[nodiscard]] Result<std::vector<ShardHeader>> shards_of(
        const std::string& name, std::uint32_t source, std::uint32_t id_bytes
    ) const;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
    BuildFolder(std::filesystem::path path, FileDescriptor lock)
        : path_(std::move(path)), lock_(std::move(lock)) {}

    std::filesystem::path path_;
    FileDescriptor lock_;  // the folder itself, open
};

}  // namespace swarm::data

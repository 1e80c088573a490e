// A folder that `swarm data build` has made, open for reading.
// Invariant: the manifest names each shard by its SHA-256, and the shards of a source follow each
// other, so token t of a source is one token for ever. Nothing of a folder without a manifest, or
// with a missing or foreign shard, can be read.
// Threading: const and any thread. Memory: about 200 bytes per shard; the ids are mapped.
// Errors (Reject): NotFound, Malformed, Mismatch; one line with the path.
// Cost: opening reads a page per shard, with Check::Everything all bytes, at about 1 GB/s.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/result.hpp"
#include "swarm/data/manifest.hpp"
#include "swarm/data/shard.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace swarm::data {

enum class Check { Headers, Everything };

class DataSet {
 public:
    static Result<DataSet> open(const std::filesystem::path& folder, Check check);

    /// Mismatch: the data has ids that a model with this vocabulary lacks.
    [[nodiscard]] Result<> check_fits(std::uint32_t vocabulary) const;

    [[nodiscard]] const Manifest& manifest() const { return manifest_; }

    /// The SHA-256 of the manifest, which names the data.
    [[nodiscard]] const Digest& digest() const { return digest_; }

    /// Copies consecutive tokens of a source, some with kNoLossFlag. Requires first + ids.size() of
    /// at most its tokens.
    /// Malformed: a damaged shard has ids that the vocabulary lacks.
    Result<> read(std::size_t source, std::uint64_t first, std::span<std::uint32_t> ids) const;

    [[nodiscard]] std::span<const Shard> shards(std::size_t source) const {
        return shards_[source];
    }

 private:
    DataSet() = default;

    Result<> open_source(const std::filesystem::path& folder, std::uint32_t source, Check check);

    Manifest manifest_;
    Digest digest_{};
    std::vector<std::vector<Shard>> shards_;  // by source
};

}  // namespace swarm::data

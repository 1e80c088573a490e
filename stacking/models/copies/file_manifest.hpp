// The manifest of a model's files: their names and sizes, the first bytes of their tensors, and the
// SHA-256 of each chunk of kChunkBytes. Its own SHA-256 names all bytes of the files, so whoever
// knows that digest can take the manifest, and each chunk alone, from anybody.
// Invariant: names are plain file names of the kinds that models have, each once; no file is empty;
// there is a hash for each chunk. One manifest has one byte form.
// Threading: const and any thread. Errors of decode(): Malformed, TooLarge; Reject.
// Bounds: kManifestBytesMax, kModelFilesMax files, kFileChunksMax chunks. Source: own.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/result.hpp"
#include "swarm/protocol/limits.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stacking::models {

struct ManifestFile {
    std::string name;
    std::uint64_t size = 0;

    friend bool operator==(const ManifestFile&, const ManifestFile&) = default;
};

/// The bytes with which a tensor begins. The digest of a model covers them (model_digest.hpp), so a
/// copy that has them can tell its model's digest while it lacks most chunks.
struct TensorBegin {
    std::uint32_t file = 0;
    std::uint64_t offset = 0;
    std::vector<std::byte> bytes;

    friend bool operator==(const TensorBegin&, const TensorBegin&) = default;
};

/// A range of bytes of a file.
struct FileRange {
    std::uint32_t file = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;

    friend bool operator==(const FileRange&, const FileRange&) = default;
};

struct FileManifest {
    std::vector<ManifestFile> files;
    std::vector<TensorBegin> begins;    // in order of (file, offset), none twice
    std::vector<swarm::Digest> chunks;  // from the first file's first one to the last file's last

    static swarm::Result<FileManifest> decode(std::span<const std::byte> bytes);
    /// REQUIRES: the invariant.
    [[nodiscard]] std::vector<std::byte> encode() const;

    /// Where a chunk lies. REQUIRES: chunk < chunks.size().
    [[nodiscard]] FileRange place_of(std::uint32_t chunk) const;
    /// The file's first chunk; for files.size() the number of all chunks.
    [[nodiscard]] std::uint32_t first_chunk(std::size_t file) const;

    friend bool operator==(const FileManifest&, const FileManifest&) = default;
};

/// Number of chunks of a file.
std::uint64_t chunks_of(std::uint64_t file_bytes);

/// Tells whether a file of a model can have this name: plain, and of a known ending.
bool is_model_file_name(std::string_view name);

/// Tells whether the file has weights: others are small, and a newcomer takes them whole.
bool has_weights(std::string_view name);

}  // namespace stacking::models

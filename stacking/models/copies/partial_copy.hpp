// A folder with a part of a model's files, taken from peers: each file has its full size and holes,
// so the readers of models work on it unchanged. Beside them lie the manifest and the list of the
// chunks that are there.
// Invariant: a chunk counts as there only after its bytes, which have the hash in the manifest, are
// on disk. Whoever opens a file of such a folder (open_file) can read only what is there; any other
// read is an error that says so, so a copy is never taken for a whole model.
// Threading: one thread, but readers of open_file() may be others. Errors: NotFound (no such
// folder), Malformed (another chunk than the manifest's), StorageFailed; one line each.
// Cost: reading checks a list; resume() hashes all chunks that are there.
#pragma once

#include "stacking/models/byte_source.hpp"
#include "stacking/models/copies/file_manifest.hpp"
#include "stacking/models/model_source.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stacking::models {

/// Notes the chunks that reads of this thread lack while it lives. The newest one of a thread
/// counts.
class MissingChunks {
 public:
    MissingChunks();
    MissingChunks(const MissingChunks&) = delete;
    MissingChunks& operator=(const MissingChunks&) = delete;
    ~MissingChunks();

    static void note(std::uint32_t chunk);

    [[nodiscard]] const std::set<std::uint32_t>& chunks() const { return chunks_; }

 private:
    MissingChunks* around_;
    std::set<std::uint32_t> chunks_;
};

/// The chunks that are there, shared by a copy and the readers of its files.
struct PresentChunks {
    explicit PresentChunks(FileManifest names)
        : manifest(std::move(names)), present(manifest.chunks.size()) {}

    const FileManifest manifest;
    std::vector<std::atomic<bool>> present;
};

class PartialCopy {
 public:
    /// Opens the folder, or makes it, for this manifest. Of a folder with another manifest nothing
    /// is kept. Chunks that are there are hashed again, and forgotten if their bytes are others.
    static swarm::Result<PartialCopy> resume(
        const std::filesystem::path& folder, std::span<const std::byte> manifest
    );

    [[nodiscard]] const FileManifest& manifest() const { return chunks_->manifest; }

    [[nodiscard]] bool has(std::uint32_t chunk) const { return chunks_->present[chunk]; }

    [[nodiscard]] std::uint32_t present() const;

    /// Writes a chunk to its place. Returns Malformed unless it has its hash.
    swarm::Result<> put(std::uint32_t chunk, std::span<const std::byte> bytes);
    /// Returns StorageFailed when the disk has less room than those of the chunks need that are not
    /// there.
    [[nodiscard]] swarm::Result<> check_room(std::span<const std::uint32_t> chunks) const;
    /// Has the chunks so far survive a power cut.
    swarm::Result<> sync();

    /// The layers for which the copy was made, which a later start serves again; none so far.
    swarm::Result<> remember(std::uint32_t first_layer, std::uint32_t end_layer);
    [[nodiscard]] std::optional<std::pair<std::uint32_t, std::uint32_t>> remembered() const;

    /// The path that open_model() takes.
    [[nodiscard]] std::filesystem::path model() const;

    [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
    PartialCopy(std::filesystem::path folder, std::shared_ptr<PresentChunks> chunks)
        : folder_(std::move(folder)), chunks_(std::move(chunks)) {}

    swarm::Result<> begin(std::span<const std::byte> manifest);
    swarm::Result<> check_present();

    std::filesystem::path folder_;
    std::shared_ptr<PresentChunks> chunks_;
};

/// The chunks that reading these layers would miss; nothing where the model's files are whole.
/// Cost: reads what is there.
std::vector<std::uint32_t> missing_chunks(
    const ModelSource& model, const swarm::run::StageLayout& layers
);

/// The bytes of the manifest of the copy in this folder. NotFound: there is none.
swarm::Result<std::vector<std::byte>> manifest_of_copy(const std::filesystem::path& folder);

/// Returns the file as it is, or, in the folder of a copy, as a source that has what is there.
swarm::Result<std::unique_ptr<ByteSource>> with_holes(
    const std::filesystem::path& path, std::unique_ptr<ByteSource> file
);

}  // namespace stacking::models

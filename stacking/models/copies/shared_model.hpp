// The files of a model as a server gives them to others: the manifest, and the bytes of each chunk.
// The files are those of the model that is served; nothing that a peer says becomes a path. A GGUF
// has the names that its parts have in every copy (model.gguf, model-00001-of-00003.gguf), because
// people rename such files. A copy with holes gives the chunks that it has.
// Invariant: equal files make equal manifests.
// Threading: one thread at a time. Errors: Unsupported (a run's checkpoint, a name that no manifest
// can have), NotFound (a chunk that is not there), StorageFailed.
// Cost: hashing reads all files once, at the disk's rate or 1.8 GB/s.
#pragma once

#include "stacking/models/copies/file_manifest.hpp"
#include "stacking/models/model_source.hpp"

#include <filesystem>
#include <memory>
#include <vector>

namespace stacking::models {

class SharedModel {
 public:
    /// `model`: opened from this path.
    static swarm::Result<SharedModel> open(
        const std::filesystem::path& path, const ModelSource& model
    );

    /// Hashes the next kHashedAtOnce bytes. Returns true when the manifest is whole.
    static constexpr std::uint64_t kHashedAtOnce = 16ULL << 20;
    swarm::Result<bool> hash_some();

    // REQUIRES: the manifest is whole.
    [[nodiscard]] const std::vector<std::byte>& manifest() const { return encoded_; }

    [[nodiscard]] const swarm::Digest& digest() const { return digest_; }

    [[nodiscard]] std::uint32_t chunks() const {
        return static_cast<std::uint32_t>(names_.chunks.size());
    }

    /// Returns NotFound for a chunk that is not there. REQUIRES: chunk < chunks().
    [[nodiscard]] swarm::Result<std::vector<std::byte>> read(std::uint32_t chunk) const;

 private:
    SharedModel() = default;

    swarm::Result<> add_file(const std::filesystem::path& path, std::string name);
    swarm::Result<> add_begins(const ModelSource& model, std::size_t weight_files);
    void finish();

    FileManifest names_;
    std::vector<std::unique_ptr<ByteSource>> files_;
    std::uint32_t all_chunks_ = 0;
    std::vector<std::byte> encoded_;
    swarm::Digest digest_;
};

}  // namespace stacking::models

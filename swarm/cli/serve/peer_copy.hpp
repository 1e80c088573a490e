// A model's files on the disk of a peer that has them from others, and of one that gives them.
// Threading: made on the main thread, used by jobs of the device. Errors: those of the copy and of
// the readers; Mismatch: the files are those of another model than the one that is wanted.
#pragma once

#include "stacking/models/copies/partial_copy.hpp"
#include "stacking/sessions/newcomer/newcomer.hpp"
#include "swarm/cli/serve/served_layers.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace swarm::cli {

/// The files of the model at this path as they are given to others; the model's digest does not
/// change with the path.
stacking::sharing::FileShelf shelf_of(
    const std::filesystem::path& path, std::shared_ptr<const stacking::models::ModelSource> model
);

/// The folder of the copy of the model with this digest.
std::filesystem::path copy_folder(const Digest& model);

class PeerCopy final : public stacking::sessions::ModelCopy {
 public:
    PeerCopy(ServeOptions options, Digest model, KeptLayers kept)
        : options_(std::move(options)), model_(model), kept_(std::move(kept)) {}

    Result<std::vector<Digest>> begin(std::span<const std::byte> manifest) override;
    Result<> put(std::uint32_t chunk, std::span<const std::byte> bytes) override;
    Result<Lacking> open(stacking::sessions::OpenedModel& opened) override;
    Result<Lacking> load(protocol::LayerRange layers, Digest& weights) override;

    /// The layers that load() has loaded, once.
    stacking::sessions::LoadedLayers take_loaded() { return std::move(*loaded_); }

    /// REQUIRES: load() has succeeded.
    [[nodiscard]] const ServedModelFiles& served() const { return *served_; }

 private:
    Result<Lacking> open_files();

    ServeOptions options_;
    Digest model_;
    KeptLayers kept_;
    std::optional<stacking::models::PartialCopy> copy_;
    std::optional<ServedModelFiles> served_;
    std::optional<stacking::sessions::LoadedLayers> loaded_;
};

/// Opens a copy that has all that its layers take, those of --layers or of its last start; nothing:
/// peers must give some. `files`: the digest of the manifest that is wanted; none: any.
/// Cost: hashes what the copy has.
std::optional<ServedModelFiles> open_whole_copy(
    const ServeOptions& options, const Digest& model, const std::optional<Digest>& files
);

}  // namespace swarm::cli

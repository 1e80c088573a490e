#include "swarm/cli/serve/peer_copy.hpp"

#include "stacking/models/any_model.hpp"
#include "stacking/models/copies/shared_model.hpp"
#include "stacking/models/model_digest.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/common/files.hpp"

#include <algorithm>
#include <utility>

namespace swarm::cli {

using protocol::LayerRange;
using stacking::models::MissingChunks;
using stacking::models::ModelSource;
using stacking::models::PartialCopy;
using stacking::models::SharedModel;
using stacking::sharing::FileShelf;
using stacking::sharing::ManifestName;

namespace {

/// The state that the functions of a shelf share.
struct Shelf {
    std::filesystem::path path;
    std::shared_ptr<const ModelSource> model;  // until its files are open
    std::optional<SharedModel> shared{};
};

Result<std::optional<ManifestName>> prepare(Shelf& shelf) {
    if (!shelf.shared) {
        SWARM_TRY(auto shared, SharedModel::open(shelf.path, *shelf.model));
        shelf.shared = std::move(shared);
        shelf.model = nullptr;
    }
    SWARM_TRY(const bool whole, shelf.shared->hash_some());
    if (!whole) {
        return std::optional<ManifestName>();
    }
    const auto bytes = static_cast<std::uint32_t>(shelf.shared->manifest().size());
    return std::optional(ManifestName{shelf.shared->digest(), bytes, shelf.shared->chunks()});
}

Result<std::vector<std::byte>> read(const Shelf& shelf, bool of_manifest, std::uint32_t chunk) {
    if (!of_manifest) {
        return shelf.shared->read(chunk);
    }
    const std::span<const std::byte> manifest = shelf.shared->manifest();
    const std::size_t at = std::min<std::size_t>(chunk * protocol::kChunkBytes, manifest.size());
    const auto bytes =
        manifest.subspan(at, std::min<std::size_t>(protocol::kChunkBytes, manifest.size() - at));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
}

std::vector<std::uint32_t> listed(const MissingChunks& missing) {
    return {missing.chunks().begin(), missing.chunks().end()};
}

/// The chunks of the small files, which are taken whole.
std::vector<std::uint32_t> missing_of_small_files(const PartialCopy& copy) {
    std::vector<std::uint32_t> missing;
    const auto& manifest = copy.manifest();
    for (std::size_t file = 0; file < manifest.files.size(); ++file) {
        const std::uint32_t end = manifest.first_chunk(file + 1);
        for (std::uint32_t chunk = manifest.first_chunk(file); chunk < end; ++chunk) {
            if (!stacking::models::has_weights(manifest.files[file].name) && !copy.has(chunk)) {
                missing.push_back(chunk);
            }
        }
    }
    return missing;
}

run::StageLayout layout_of(const ModelSource& model, LayerRange layers) {
    return stacking::models::layers_of(model.architecture(), layers.first, layers.end);
}

}  // namespace

FileShelf shelf_of(const std::filesystem::path& path, std::shared_ptr<const ModelSource> model) {
    const auto shelf = std::make_shared<Shelf>(Shelf{path, std::move(model)});
    return {
        [shelf] { return prepare(*shelf); },
        [shelf](bool of_manifest, std::uint32_t chunk) {
            return read(*shelf, of_manifest, chunk);
        }};
}

std::filesystem::path copy_folder(const Digest& model) {
    return cache_folder() / "models" / "from-peers" / to_hex(model);
}

Result<std::vector<Digest>> PeerCopy::begin(std::span<const std::byte> manifest) {
    SWARM_TRY(auto copy, PartialCopy::resume(copy_folder(model_), manifest));
    copy_ = std::move(copy);
    return copy_->manifest().chunks;
}

Result<> PeerCopy::put(std::uint32_t chunk, std::span<const std::byte> bytes) {
    return copy_->put(chunk, bytes);
}

/// Opens the files anew, as a reader sees only the chunks that were there when it was opened.
Result<PeerCopy::Lacking> PeerCopy::open_files() {
    SWARM_TRY(copy_->sync());
    served_.reset();
    const MissingChunks missing;
    auto model = stacking::models::open_model(copy_->model());
    if (!model) {
        Lacking lacking = listed(missing);
        return lacking.empty() ? Result<Lacking>(model.error()) : lacking;
    }
    SWARM_TRY(auto served, open_served(options_, copy_->model(), std::move(*model)));
    if (served.identity != model_) {
        return Error{
            ErrorCode::Mismatch,
            Reaction::Reject,
            "the files that peers gave are those of the model " + to_hex(served.identity) +
                ", not of " + to_hex(model_)};
    }
    served_ = std::move(served);
    return Lacking();
}

Result<PeerCopy::Lacking> PeerCopy::open(stacking::sessions::OpenedModel& opened) {
    if (Lacking lacking = missing_of_small_files(*copy_); !lacking.empty()) {
        return lacking;
    }
    SWARM_TRY(Lacking lacking, open_files());
    if (lacking.empty()) {
        opened.layers = served_->model->architecture().model.layers;
        opened.split = served_->split;
        opened.fixed = served_->fixed;
    }
    return lacking;
}

Result<PeerCopy::Lacking> PeerCopy::load(LayerRange layers, Digest& weights) {
    SWARM_TRY(Lacking lacking, open_files());
    if (lacking.empty()) {
        lacking = missing_chunks(*served_->model, layout_of(*served_->model, layers));
    }
    if (!lacking.empty()) {
        SWARM_TRY(copy_->check_room(lacking));
        return lacking;
    }
    const MissingChunks missing;  // exits take more than the layers
    auto loaded = load_layers(*served_->model, layers, kept_);
    if (!loaded) {
        lacking = listed(missing);
        return lacking.empty() ? Result<Lacking>(loaded.error()) : lacking;
    }
    SWARM_TRY(copy_->remember(layers.first, layers.end));
    weights = loaded->weights;
    loaded_ = std::move(*loaded);
    return Lacking();
}

std::optional<ServedModelFiles> open_whole_copy(
    const ServeOptions& options, const Digest& model, const std::optional<Digest>& files
) {
    if (options.exits) {
        return std::nullopt;  // they take more than the layers
    }
    const auto folder = copy_folder(model);
    const auto manifest = stacking::models::manifest_of_copy(folder);
    if (!manifest || (files && sha256(*manifest) != *files)) {
        return std::nullopt;
    }
    const auto copy = PartialCopy::resume(folder, *manifest);
    auto source = copy ? stacking::models::open_model(copy->model()) : copy.error();
    auto served = source ? open_served(options, copy->model(), std::move(*source)) : source.error();
    if (!served || served->identity != model) {
        return std::nullopt;
    }
    const auto layers = copy->remembered();
    if (!served->fixed && layers) {
        served->fixed = {layers->first, layers->second};
    }
    const std::uint32_t all = served->model->architecture().model.layers;
    const bool whole =
        served->fixed && served->fixed->end <= all &&
        missing_chunks(*served->model, layout_of(*served->model, *served->fixed)).empty();
    return whole ? std::optional(std::move(*served)) : std::nullopt;
}

}  // namespace swarm::cli

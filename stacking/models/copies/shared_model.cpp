#include "stacking/models/copies/shared_model.hpp"

#include "stacking/models/copies/partial_copy.hpp"
#include "stacking/models/gguf_parts.hpp"
#include "stacking/models/hf_folder.hpp"
#include "stacking/models/limits.hpp"
#include "stacking/models/model_digest.hpp"
#include "stacking/models/run_checkpoint.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <system_error>
#include <utility>

namespace stacking::models {

namespace fs = std::filesystem;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::protocol::kChunkBytes;
using swarm::protocol::kFileChunksMax;
using swarm::protocol::kManifestBytesMax;

namespace {

/// Small files of a folder that peers or clients read (README.md).
constexpr std::array kSmallFiles{
    "chat_template.jinja",
    "config.json",
    "generation_config.json",
    "model.safetensors.index.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json"};

struct NamedFile {
    fs::path path;
    std::string name;
};

Error not_given(const std::string& why) {
    return {ErrorCode::Unsupported, Reaction::Reject, why};
}

std::vector<NamedFile> gguf_files(const fs::path& path) {
    const std::vector<fs::path> paths = gguf_part_paths(path);
    std::vector<NamedFile> files;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        char name[64] = "model.gguf";
        if (paths.size() > 1) {
            std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.gguf", i + 1, paths.size());
        }
        files.push_back({paths[i], name});
    }
    return files;
}

/// Lists the files with weights first, in the order of the model's files.
Result<std::vector<NamedFile>> list_files(const fs::path& path, std::size_t& weight_files) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
        auto files = gguf_files(path);
        weight_files = files.size();
        return files;
    }
    if (is_run_checkpoint(path)) {
        return not_given("the checkpoint of a run is not given to other peers");
    }
    SWARM_TRY(const auto names, hf_weight_files(path));
    weight_files = names.size();
    std::vector<NamedFile> files;
    for (const std::string& name : names) {
        files.push_back({path / name, name});
    }
    for (const char* const name : kSmallFiles) {
        if (fs::exists(path / name, ignored)) {
            files.push_back({path / name, name});
        }
    }
    return files;
}

}  // namespace

Result<SharedModel> SharedModel::open(const fs::path& path, const ModelSource& model) {
    SharedModel shared;
    std::error_code ignored;
    const fs::path folder = fs::is_directory(path, ignored) ? path : path.parent_path();
    if (auto copy = manifest_of_copy(folder); copy) {
        SWARM_TRY(shared.names_, FileManifest::decode(*copy));
        for (const ManifestFile& file : shared.names_.files) {
            SWARM_TRY(auto source, open_file(folder / file.name));
            shared.files_.push_back(std::move(source));
        }
        shared.all_chunks_ = shared.chunks();
        shared.finish();
        return shared;
    }
    std::size_t weight_files = 0;
    SWARM_TRY(const auto files, list_files(path, weight_files));
    for (const NamedFile& file : files) {
        SWARM_TRY(shared.add_file(file.path, file.name));
    }
    SWARM_TRY(shared.add_begins(model, weight_files));
    return shared;
}

Result<> SharedModel::add_file(const fs::path& path, std::string name) {
    SWARM_TRY(auto source, open_file(path));
    const std::uint64_t chunks = chunks_of(source->size());
    if (!is_model_file_name(name) || source->size() == 0 || chunks > kFileChunksMax - all_chunks_ ||
        files_.size() == kModelFilesMax) {
        return not_given(
            "the file " + printable(name) +
            " is not given to other peers: its name or size is "
            "none that a manifest can have"
        );
    }
    all_chunks_ += static_cast<std::uint32_t>(chunks);
    names_.files.push_back({std::move(name), source->size()});
    files_.push_back(std::move(source));
    return {};
}

/// Tensors may share their bytes, as a tied head does, or begin inside each other's first bytes.
Result<> SharedModel::add_begins(const ModelSource& model, std::size_t weight_files) {
    std::set<std::pair<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t>> wanted;
    for (const auto& [name, tensor] : model.tensors()) {
        const std::uint64_t bytes = std::min<std::uint64_t>(kSampleBytes, tensor.bytes);
        if (tensor.file >= weight_files) {
            return not_given("the model's files are none that a manifest can name");
        }
        const auto file = static_cast<std::uint32_t>(tensor.file);
        wanted.insert({{file, tensor.offset}, tensor.offset + bytes});
    }
    std::pair<std::uint32_t, std::uint64_t> upto{0, 0};
    for (const auto& [place, end] : wanted) {
        const std::uint64_t from =
            std::max(place.second, place.first == upto.first ? upto.second : 0);
        if (from < end) {
            TensorBegin begin{place.first, from, std::vector<std::byte>(end - from)};
            SWARM_TRY(files_[place.first]->read(from, begin.bytes));
            names_.begins.push_back(std::move(begin));
            upto = {place.first, end};
        }
    }
    return {};
}

Result<bool> SharedModel::hash_some() {
    const std::size_t upto =
        std::min<std::size_t>(all_chunks_, names_.chunks.size() + kHashedAtOnce / kChunkBytes);
    while (names_.chunks.size() < upto) {
        SWARM_TRY(const auto bytes, read(chunks()));
        names_.chunks.push_back(swarm::sha256(bytes));
    }
    if (upto < all_chunks_) {
        return false;
    }
    if (encoded_.empty()) {
        finish();
    }
    if (encoded_.size() > kManifestBytesMax) {
        return not_given("the manifest of the model's files is too large to be given");
    }
    return true;
}

void SharedModel::finish() {
    encoded_ = names_.encode();
    digest_ = swarm::sha256(encoded_);
}

Result<std::vector<std::byte>> SharedModel::read(std::uint32_t chunk) const {
    const FileRange place = names_.place_of(chunk);
    std::vector<std::byte> bytes(place.bytes);
    SWARM_TRY(files_[place.file]->read(place.offset, bytes));
    if (chunk < names_.chunks.size() && swarm::sha256(bytes) != names_.chunks[chunk]) {
        return Error{
            ErrorCode::StorageFailed,
            Reaction::RetryElsewhere,
            printable(names_.files[place.file].name) +
                " has changed since this peer has opened it"};
    }
    return bytes;
}

}  // namespace stacking::models

#include "stacking/models/run_checkpoint.hpp"

#include "stacking/models/limits.hpp"
#include "stacking/models/safetensors_files.hpp"
#include "stacking/models/training/shared_layers.hpp"
#include "stacking/models/training/trained_model.hpp"
#include "stages/files/checkpoint.hpp"
#include "stages/files/checkpoint_manifest.hpp"
#include "swarm/base/digest.hpp"
#include "swarm/base/try.hpp"
#include "swarm/run/training/trained_part.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace stacking::models {

namespace fs = std::filesystem;
using stages::CheckpointManifest;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Result;
using swarm::run::TensorSpec;

namespace {

constexpr const char* kManifestName = "manifest.json";
constexpr const char* kMomentsSuffix = ".adam.safetensors";

bool is_checkpoint(const fs::path& folder) {
    std::error_code ignored;
    return fs::exists(folder / kManifestName, ignored);
}

Result<> check_file(const fs::path& path, const CheckpointManifest::File& file) {
    SWARM_TRY(const auto opened, open_file(path));
    const std::uint64_t size = opened->size();
    swarm::Sha256 hash;
    std::vector<std::byte> bytes;
    for (std::uint64_t at = 0; at < size && size == file.bytes; at += bytes.size()) {
        bytes.resize(std::min<std::uint64_t>(kReadBytes, size - at));
        SWARM_TRY(opened->read(at, bytes));
        hash.add(bytes);
    }
    if (size != file.bytes || swarm::to_hex(hash.finish()) != file.sha256) {
        return refused_at(ErrorCode::Malformed, path, "damaged: not the bytes that were written");
    }
    return {};
}

/// A boundary lies in front of the first layer of each stage but the first.
Bottlenecks bottlenecks_of(const swarm::run::RunConfig& config) {
    Bottlenecks bottlenecks{config.model.bottleneck, {}};
    if (bottlenecks.width > 0) {
        for (const swarm::run::StageLayout& stage : swarm::run::partition(config)) {
            if (stage.first_layer > 0) {
                bottlenecks.layers.push_back(stage.first_layer * config.model.repeat);
            }
        }
    }
    return bottlenecks;
}

Result<Architecture> architecture_of(const fs::path& folder, const CheckpointManifest& manifest) {
    SWARM_TRY(const auto config, swarm::run::parse_run(manifest.run_file, folder.string()));
    if (config.model.kind == swarm::run::ModelKind::Oracle) {
        return refused_at(
            ErrorCode::Unsupported, folder, "a run of the oracle model, which has no text"
        );
    }
    Architecture architecture = as_served(config.model);
    architecture.traits.bottlenecks = bottlenecks_of(config);
    architecture.name = config.name + ", step " + std::to_string(manifest.version.step);
    return architecture;
}

Result<CheckpointManifest> read_manifest(const fs::path& folder) {
    SWARM_TRY(const auto text, read_text(folder / kManifestName, kIndexBytesMax));
    auto manifest = stages::parse_manifest(text);
    if (manifest.has_error()) {
        return refused_at(manifest.error().code, folder, manifest.error().detail);
    }
    return manifest;
}

Result<std::string> read_tokenizer(const fs::path& folder) {
    SWARM_TRY(const auto manifest, read_manifest(folder));
    SWARM_TRY(const auto config, swarm::run::parse_run(manifest.run_file, folder.string()));
    const auto held =
        std::ranges::find_if(manifest.files, [](const CheckpointManifest::File& file) {
            return stages::is_tokenizer_file(file.name);
        });
    if (!swarm::run::has_tokenizer_file(config.tokenizer)) {
        return std::string();
    }
    const fs::path path =
        folder / (held == manifest.files.end() ? stages::kTokenizerFile : held->name.c_str());
    auto file = read_text(path, stages::kTokenizerBytesMax);
    if (file.has_value() &&
        swarm::to_hex(swarm::sha256(std::as_bytes(std::span(*file)))) != config.tokenizer_sha256) {
        return refused_at(ErrorCode::Malformed, path, "damaged: not the tokenizer of the run");
    }
    return file;
}

Result<std::vector<std::uint32_t>> read_exits(const fs::path& folder) {
    SWARM_TRY(const auto manifest, read_manifest(folder));
    SWARM_TRY(const auto config, swarm::run::parse_run(manifest.run_file, folder.string()));
    std::vector<std::uint32_t> exits = config.train.exits;
    for (std::uint32_t& exit : exits) {
        exit *= config.model.repeat;
    }
    return exits;
}

Result<std::vector<float>> read_floats(
    const StoredTensor& tensor, const ModelSource::Files& files, const fs::path& folder
) {
    std::vector<float> values(tensor.rows() * tensor.columns());
    const std::span<std::byte> bytes = std::as_writable_bytes(std::span(values));
    if (tensor.type != WeightType::F32 || tensor.bytes != bytes.size()) {
        return refused_at(ErrorCode::Malformed, folder, "an adapter that is not fp32");
    }
    SWARM_TRY(files[tensor.file]->read(tensor.offset, bytes));
    return values;
}

/// Joins the adapters of [lora] with their matrices, so that the model is the merged one.
Result<> join_adapters(
    const swarm::run::RunConfig& config,
    const ModelSource::Files& files,
    const fs::path& folder,
    ModelSource::Tensors& tensors
) {
    if (config.lora.rank == 0) {
        return {};
    }
    const auto scale = static_cast<float>(swarm::run::adapter_scale(config.lora));
    for (auto& [name, tensor] : tensors) {
        const auto in = tensors.find(name + swarm::run::kAdapterIn);
        const auto out = tensors.find(name + swarm::run::kAdapterOut);
        if (in == tensors.end() || out == tensors.end()) {
            continue;
        }
        LowRank product{config.lora.rank, scale};
        const std::vector<std::uint32_t> in_shape{product.rank, tensor.shape.back()};
        const std::vector<std::uint32_t> out_shape{tensor.shape.front(), product.rank};
        if (in->second.shape != in_shape || out->second.shape != out_shape) {
            return refused_at(
                ErrorCode::Malformed, folder, name + " has an adapter of another rank"
            );
        }
        SWARM_TRY(product.in, read_floats(in->second, files, folder));
        SWARM_TRY(product.out, read_floats(out->second, files, folder));
        tensor.adapter = std::make_shared<const LowRank>(std::move(product));
    }
    std::erase_if(tensors, [](const auto& entry) {
        return entry.first.ends_with(swarm::run::kAdapterIn) ||
               entry.first.ends_with(swarm::run::kAdapterOut);
    });
    return {};
}

Result<ModelSource> open_checkpoint(const fs::path& folder) {
    SWARM_TRY(const auto manifest, read_manifest(folder));
    SWARM_TRY(auto architecture, architecture_of(folder, manifest));
    ModelSource::Files files;
    TensorCatalogue catalogue;
    for (const CheckpointManifest::File& file : manifest.files) {
        if (file.name.ends_with(kMomentsSuffix)) {
            continue;
        }
        SWARM_TRY(check_file(folder / file.name, file));
        if (stages::is_tokenizer_file(file.name)) {
            continue;
        }
        SWARM_TRY(add_safetensors(folder / file.name, files, catalogue));
    }
    ModelSource::Tensors tensors;
    for (const auto& [name, found] : catalogue) {
        auto stored = as_stored(name, found);
        if (stored.has_error()) {
            return refused_at(stored.error().code, folder, stored.error().detail);
        }
        tensors.emplace(name, std::move(*stored));
    }
    SWARM_TRY(const auto config, swarm::run::parse_run(manifest.run_file, folder.string()));
    SWARM_TRY(join_adapters(config, files, folder, tensors));
    tensors = with_repeated_layers(std::move(tensors), config.model.repeat);
    return ModelSource::make(std::move(architecture), std::move(tensors), std::move(files));
}

/// Opens the folder if it is a checkpoint, otherwise the newest checkpoint in it that `open`
/// accepts.
template <class Made>
Result<Made> open_newest(const fs::path& folder, Result<Made> (*open)(const fs::path&)) {
    if (is_checkpoint(folder)) {
        return open(folder);
    }
    std::optional<Error> newest;
    for (const fs::path& checkpoint : stages::checkpoint_folders(folder)) {
        auto made = open(checkpoint);
        if (made.has_value()) {
            return made;
        }
        newest = newest ? newest : made.error();
    }
    return newest ? *newest : refused_at(ErrorCode::NotFound, folder, "holds no checkpoint");
}

}  // namespace

bool is_run_checkpoint(const fs::path& folder) {
    return is_checkpoint(folder) || !stages::checkpoint_folders(folder).empty();
}

Result<ModelSource> open_run_checkpoint(const fs::path& folder) {
    return open_newest(folder, open_checkpoint);
}

Result<std::vector<std::uint32_t>> read_run_exits(const fs::path& folder) {
    return open_newest(folder, read_exits);
}

Result<std::string> read_run_tokenizer(const fs::path& folder) {
    return open_newest(folder, read_tokenizer);
}

}  // namespace stacking::models

#include "stacking/models/hf_folder.hpp"

#include "stacking/models/f8_weights.hpp"
#include "stacking/models/families/family.hpp"
#include "stacking/models/hf_config.hpp"
#include "stacking/models/limits.hpp"
#include "stacking/models/safetensors_files.hpp"
#include "stacking/models/tensor_names.hpp"
#include "stages/files/strict_json.hpp"
#include "swarm/base/try.hpp"

#include <boost/json/object.hpp>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace stacking::models {

namespace fs = std::filesystem;
namespace json = boost::json;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::run::TensorSpec;

namespace {

constexpr const char* kConfigName = "config.json";
constexpr const char* kGenerationName = "generation_config.json";
constexpr const char* kSingleName = "model.safetensors";
constexpr const char* kIndexName = "model.safetensors.index.json";

/// Name's end of tensors that some files have and that this program computes from the
/// configuration.
constexpr std::string_view kDerivedSuffix = ".rotary_emb.inv_freq";

/// Reads which file has which tensor. The name of a file must not lead out of the folder.
Result<std::map<std::string, std::string>> read_index(const fs::path& path) {
    SWARM_TRY(const auto text, read_text(path, kIndexBytesMax));
    const auto parsed = stages::parse_strict_json(text);
    if (parsed.has_error()) {
        return refused_at(ErrorCode::Malformed, path, parsed.error().detail);
    }
    const json::object* const index = parsed->if_object();
    const json::value* const entry = index == nullptr ? nullptr : index->if_contains("weight_map");
    const json::object* const tensors = entry == nullptr ? nullptr : entry->if_object();
    if (tensors == nullptr) {
        return refused_at(ErrorCode::Malformed, path, "there is no object weight_map");
    }
    std::map<std::string, std::string> files;
    for (const auto& member : *tensors) {
        const json::string* const name = member.value().if_string();
        if (name == nullptr || name->empty() || name->find('/') != json::string::npos ||
            name->front() == '.' || printable(*name) != *name) {
            return refused_at(
                ErrorCode::Malformed, path, "weight_map has an entry that names no file beside it"
            );
        }
        files.emplace(member.key(), std::string(*name));
    }
    return files;
}

Result<> add_indexed_files(
    const fs::path& folder, ModelSource::Files& files, TensorCatalogue& catalogue
) {
    const fs::path path = folder / kIndexName;
    SWARM_TRY(const auto index, read_index(path));
    std::map<std::string, std::size_t> numbers;  // file name -> number of the file
    for (const auto& [tensor, file] : index) {
        numbers.emplace(file, 0);
    }
    if (numbers.size() > kModelFilesMax) {
        return refused_at(ErrorCode::TooLarge, path, std::to_string(numbers.size()) + " files");
    }
    for (auto& [file, number] : numbers) {
        number = files.size();
        SWARM_TRY(add_safetensors(folder / file, files, catalogue));
    }
    for (const auto& [tensor, file] : index) {
        const auto found = catalogue.find(tensor);
        if (found == catalogue.end() || found->second.file != numbers.at(file)) {
            return refused_at(
                ErrorCode::Malformed, path, printable(tensor) + " is not in " + printable(file)
            );
        }
    }
    return {};
}

/// The end tokens of generation_config.json replace those of config.json, as in transformers.
Result<> read_end_tokens(const fs::path& folder, Architecture& architecture) {
    std::error_code ignored;
    if (!fs::exists(folder / kGenerationName, ignored)) {
        return {};
    }
    SWARM_TRY(const auto text, read_text(folder / kGenerationName, kConfigBytesMax));
    SWARM_TRY(auto tokens, parse_hf_generation_config(text));
    if (tokens) {
        architecture.end_tokens = std::move(*tokens);
    }
    return {};
}

/// Whether the file has a head of its own whose bytes differ from those of the embedding. Reads
/// both, up to the first difference.
Result<bool> has_other_head(const TensorCatalogue& catalogue, const ModelSource::Files& files) {
    const auto head = catalogue.find("lm_head.weight");
    const auto embedding = catalogue.find("model.embed_tokens.weight");
    if (head == catalogue.end() || embedding == catalogue.end()) {
        return false;
    }
    const FoundTensor& one = head->second;
    const FoundTensor& other = embedding->second;
    if (one.entry.shape != other.entry.shape || one.entry.dtype != other.entry.dtype) {
        return true;
    }
    const std::uint64_t bytes = one.entry.end - one.entry.begin;
    std::vector<std::byte> left;
    std::vector<std::byte> right;
    for (std::uint64_t at = 0; at < bytes; at += left.size()) {
        left.resize(std::min(kReadBytes, bytes - at));
        right.resize(left.size());
        SWARM_TRY(files[one.file]->read(one.offset + at, left));
        SWARM_TRY(files[other.file]->read(other.offset + at, right));
        if (left != right) {
            return true;
        }
    }
    return false;
}

Error unfit(ErrorCode code, std::string what) {
    return {code, Reaction::Reject, std::move(what)};
}

/// Takes the tensors that the architecture needs out of the catalogue, under our names.
Result<ModelSource::Tensors> name_tensors(
    const Architecture& architecture,
    TensorCatalogue& catalogue,
    const ModelSource::Files& files,
    Quantised quantised
) {
    ModelSource::Tensors tensors;
    std::set<std::string> used;
    for (const TensorSpec& wanted : tensors_of(architecture)) {
        const bool tied = architecture.tied_embeddings && wanted.name == "head.weight";
        TensorSpec spec = wanted;
        spec.name = tied ? "embed.weight" : wanted.name;
        const TensorPlace place = place_of(spec, architecture, Naming::HuggingFace);
        const auto found = catalogue.find(place.name);
        if (found == catalogue.end()) {
            const bool head = wanted.name == "head.weight" && !architecture.tied_embeddings;
            return unfit(
                ErrorCode::Malformed,
                "there is no tensor " + place.name +
                    (head ? ", and tie_word_embeddings of config.json does not say that the "
                            "embedding stands for it"
                          : "; is a file of the model missing?")
            );
        }
        used.insert(place.name);
        SWARM_TRY(auto whole, as_stored(place.name, found->second));
        SWARM_TRY(add_f8_scales(place.name, catalogue, files, quantised, whole, used));
        SWARM_TRY(auto stored, cut(whole, place, wanted));
        const bool less_one =
            family_of(architecture).norms_less_one && wanted.name.ends_with("norm");
        stored.added = less_one ? 1.0F : 0.0F;
        tensors.emplace(wanted.name, std::move(stored));
    }
    for (const auto& [name, found] : catalogue) {
        const bool tied_head = architecture.tied_embeddings && name == "lm_head.weight";
        if (!used.contains(name) && !tied_head && !name.ends_with(kDerivedSuffix)) {
            return unfit(
                ErrorCode::Unsupported,
                "the tensor " + printable(name) + " is no part of a " +
                    std::string(architecture.traits.family) + " that can be computed"
            );
        }
    }
    return tensors;
}

/// REQUIRES: the text is one that parse_hf_config() takes.
Quantised quantised_by(const std::string& config) {
    const auto parsed = stages::parse_strict_json(config);
    const json::object* const object = parsed ? parsed->if_object() : nullptr;
    const json::value* const member =
        object == nullptr ? nullptr : object->if_contains("quantization_config");
    return member == nullptr || member->is_null() ? Quantised::No : Quantised::Yes;
}

}  // namespace

Result<ModelSource> open_hf_folder(const fs::path& folder) {
    SWARM_TRY(const auto text, read_text(folder / kConfigName, kConfigBytesMax));
    auto architecture = parse_hf_config(
        text, printable(fs::absolute(folder).lexically_normal().filename().string())
    );
    if (architecture.has_error()) {
        return refused_at(architecture.error().code, folder, architecture.error().detail);
    }
    if (const auto read = read_end_tokens(folder, *architecture); read.has_error()) {
        return refused_at(read.error().code, folder, read.error().detail);
    }
    if (const auto good = check(*architecture); good.has_error()) {
        return refused_at(good.error().code, folder, good.error().detail);
    }
    ModelSource::Files files;
    TensorCatalogue catalogue;
    std::error_code ignored;
    // The file of all tensors counts more than an index, as in transformers.
    const bool indexed =
        !fs::exists(folder / kSingleName, ignored) && fs::exists(folder / kIndexName, ignored);
    SWARM_TRY(
        indexed ? add_indexed_files(folder, files, catalogue)
                : add_safetensors(folder / kSingleName, files, catalogue)
    );
    if (architecture->tied_embeddings) {
        SWARM_TRY(const bool other, has_other_head(catalogue, files));
        // The tensors count more than the configuration, as in transformers.
        architecture->tied_embeddings = !other;
    }
    auto tensors = name_tensors(*architecture, catalogue, files, quantised_by(text));
    if (tensors.has_error()) {
        return refused_at(tensors.error().code, folder, tensors.error().detail);
    }
    return ModelSource::make(std::move(*architecture), std::move(*tensors), std::move(files));
}

Result<std::vector<std::string>> hf_weight_files(const fs::path& folder) {
    std::error_code ignored;
    if (!fs::exists(folder / kIndexName, ignored)) {
        return std::vector<std::string>{kSingleName};
    }
    SWARM_TRY(const auto index, read_index(folder / kIndexName));
    std::set<std::string> names;
    for (const auto& [tensor, file] : index) {
        names.insert(file);
    }
    return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace stacking::models

#include "stacking/models/hf_folder.hpp"

#include "stacking/models/gguf_model.hpp"
#include "stacking/models/hf_config.hpp"
#include "stacking/models/limits.hpp"
#include "stacking/models/tensor_names.hpp"
#include "stages/safetensors_header.hpp"
#include "stages/strict_json.hpp"

#include <boost/json/object.hpp>

#include <array>
#include <optional>
#include <set>
#include <utility>

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
constexpr const char* kSingleName = "model.safetensors";
constexpr const char* kIndexName = "model.safetensors.index.json";

/// Tensors of some files that follow from the configuration and are computed instead.
constexpr std::string_view kDerivedSuffix = ".rotary_emb.inv_freq";

Error refused(ErrorCode code, const fs::path& where, const std::string& what) {
    return {code, Reaction::Reject, where.string() + ": " + one_line(what)};
}

std::optional<WeightType> weight_type(std::string_view dtype) {
    for (const WeightType type : {WeightType::F32, WeightType::F16, WeightType::BF16}) {
        if (name_of(type) == dtype) {
            return type;
        }
    }
    return std::nullopt;
}

/// A tensor as a file has it: `shape` and place are valid, the type is not known yet.
struct Found {
    std::size_t file = 0;
    std::uint64_t offset = 0;
    stages::SafetensorsEntry entry;
};

using Catalogue = std::map<std::string, Found, std::less<>>;

Result<> add_file(const fs::path& path, ModelSource::Files& files, Catalogue& catalogue) {
    auto opened = open_file(path);
    if (opened.has_error()) {
        return opened.error();
    }
    const ByteSource& file = **opened;
    std::array<std::byte, stages::kSafetensorsLengthBytes> start{};
    if (auto read = file.read(0, start); read.has_error()) {
        return read;
    }
    const auto length = stages::read_safetensors_length(start, file.size());
    if (length.has_error()) {
        return refused(length.error().code, path, length.error().detail);
    }
    std::string header(*length, '\0');
    const auto bytes = std::as_writable_bytes(std::span(header));
    if (auto read = file.read(start.size(), bytes); read.has_error()) {
        return read;
    }
    const std::uint64_t values = start.size() + *length;
    auto entries = stages::parse_safetensors_header(header, file.size() - values);
    if (entries.has_error()) {
        return refused(entries.error().code, path, entries.error().detail);
    }
    if (entries->size() > kTensorsMax - catalogue.size()) {
        return refused(ErrorCode::TooLarge, path, "too many tensors");
    }
    for (stages::SafetensorsEntry& entry : *entries) {
        const std::string name = entry.name;
        const std::uint64_t offset = values + entry.begin;
        if (!catalogue.emplace(name, Found{files.size(), offset, std::move(entry)}).second) {
            return refused(
                ErrorCode::Malformed, path, printable(name) + " is in another file, too"
            );
        }
    }
    files.push_back(std::move(*opened));
    return {};
}

/// Tensor -> file. A name of a file must not lead out of the folder.
Result<std::map<std::string, std::string>> read_index(const fs::path& path) {
    const auto text = read_text(path, kIndexBytesMax);
    if (text.has_error()) {
        return text.error();
    }
    const auto parsed = stages::parse_strict_json(*text);
    if (parsed.has_error()) {
        return refused(ErrorCode::Malformed, path, parsed.error().detail);
    }
    const json::object* const index = parsed->if_object();
    const json::value* const entry = index == nullptr ? nullptr : index->if_contains("weight_map");
    const json::object* const tensors = entry == nullptr ? nullptr : entry->if_object();
    if (tensors == nullptr) {
        return refused(ErrorCode::Malformed, path, "there is no object weight_map");
    }
    std::map<std::string, std::string> files;
    for (const auto& member : *tensors) {
        const json::string* const name = member.value().if_string();
        if (name == nullptr || name->empty() || name->find('/') != json::string::npos ||
            name->front() == '.' || printable(*name) != *name) {
            return refused(
                ErrorCode::Malformed, path, "weight_map has an entry that names no file beside it"
            );
        }
        files.emplace(member.key(), std::string(*name));
    }
    return files;
}

Result<> add_indexed_files(
    const fs::path& folder, ModelSource::Files& files, Catalogue& catalogue
) {
    const fs::path path = folder / kIndexName;
    const auto index = read_index(path);
    if (index.has_error()) {
        return index.error();
    }
    std::map<std::string, std::size_t> numbers;  // of the files, in order of their names
    for (const auto& [tensor, file] : *index) {
        numbers.emplace(file, 0);
    }
    if (numbers.size() > kModelFilesMax) {
        return refused(ErrorCode::TooLarge, path, std::to_string(numbers.size()) + " files");
    }
    for (auto& [file, number] : numbers) {
        number = files.size();
        if (auto added = add_file(folder / file, files, catalogue); added.has_error()) {
            return added;
        }
    }
    for (const auto& [tensor, file] : *index) {
        const auto found = catalogue.find(tensor);
        if (found == catalogue.end() || found->second.file != numbers.at(file)) {
            return refused(
                ErrorCode::Malformed, path, printable(tensor) + " is not in " + printable(file)
            );
        }
    }
    return {};
}

/// Takes what the architecture needs out of the catalogue.
Result<ModelSource::Tensors> name_tensors(const Architecture& architecture, Catalogue& catalogue) {
    ModelSource::Tensors tensors;
    std::set<std::string> used;
    for (const TensorSpec& wanted : tensors_of(architecture)) {
        const bool tied = architecture.tied_embeddings && wanted.name == "head.weight";
        const std::string name =
            foreign_name(tied ? "embed.weight" : wanted.name, Naming::HuggingFace);
        const auto found = catalogue.find(name);
        if (found == catalogue.end()) {
            continue;  // ModelSource says which
        }
        used.insert(name);
        const stages::SafetensorsEntry& entry = found->second.entry;
        const std::optional<WeightType> type = weight_type(entry.dtype);
        if (!type) {
            return Error{
                ErrorCode::Unsupported,
                Reaction::Reject,
                name + " is stored as " + entry.dtype + "; F32, F16 and BF16 can be read"};
        }
        tensors.emplace(
            wanted.name,
            StoredTensor{
                .shape = entry.shape,
                .type = *type,
                .file = found->second.file,
                .offset = found->second.offset,
                .bytes = entry.end - entry.begin}
        );
    }
    for (const auto& [name, found] : catalogue) {
        const bool tied_head = architecture.tied_embeddings && name == "lm_head.weight";
        if (!used.contains(name) && !tied_head && !name.ends_with(kDerivedSuffix)) {
            return Error{
                ErrorCode::Unsupported,
                Reaction::Reject,
                "the tensor " + printable(name) + " is no part of a plain Llama"};
        }
    }
    return tensors;
}

}  // namespace

Result<ModelSource> open_hf_folder(const fs::path& folder) {
    const auto text = read_text(folder / kConfigName, kConfigBytesMax);
    if (text.has_error()) {
        return text.error();
    }
    auto architecture = parse_hf_config(
        *text, printable(fs::absolute(folder).lexically_normal().filename().string())
    );
    if (architecture.has_error()) {
        return refused(architecture.error().code, folder, architecture.error().detail);
    }
    if (const auto good = check(*architecture); good.has_error()) {
        return refused(good.error().code, folder, good.error().detail);
    }
    ModelSource::Files files;
    Catalogue catalogue;
    std::error_code ignored;
    const bool indexed = fs::exists(folder / kIndexName, ignored);
    auto added = indexed ? add_indexed_files(folder, files, catalogue)
                         : add_file(folder / kSingleName, files, catalogue);
    if (added.has_error()) {
        return added.error();
    }
    auto tensors = name_tensors(*architecture, catalogue);
    if (tensors.has_error()) {
        return refused(tensors.error().code, folder, tensors.error().detail);
    }
    return ModelSource::make(std::move(*architecture), std::move(*tensors), std::move(files));
}

Result<ModelSource> open_model(const fs::path& path) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
        return open_hf_folder(path);
    }
    auto file = open_file(path);
    if (file.has_error()) {
        return file.error();
    }
    if (!is_gguf(**file)) {
        return refused(
            ErrorCode::Unsupported, path, "neither a GGUF file nor a Hugging Face folder"
        );
    }
    auto model = open_gguf(std::move(*file));
    if (model.has_error()) {
        return refused(model.error().code, path, model.error().detail);
    }
    return model;
}

}  // namespace stacking::models

#include "stacking/models/safetensors_files.hpp"

#include "stacking/models/limits.hpp"
#include "swarm/base/try.hpp"

#include <array>
#include <span>
#include <utility>

namespace stacking::models {

namespace fs = std::filesystem;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

std::optional<WeightType> weight_type(std::string_view dtype) {
    for (const WeightType type :
         {WeightType::F32, WeightType::F16, WeightType::BF16, WeightType::F8_E4M3}) {
        if (name_of(type) == dtype) {
            return type;
        }
    }
    return std::nullopt;
}

}  // namespace

Error refused_at(ErrorCode code, const fs::path& where, const std::string& what) {
    return {code, Reaction::Reject, where.string() + ": " + one_line(what)};
}

Result<> add_safetensors(
    const fs::path& path, ModelSource::Files& files, TensorCatalogue& catalogue
) {
    SWARM_TRY(auto opened, open_file(path));
    const ByteSource& file = *opened;
    std::array<std::byte, stages::kSafetensorsLengthBytes> start{};
    SWARM_TRY(file.read(0, start));
    const auto length = stages::read_safetensors_length(start, file.size());
    if (length.has_error()) {
        return refused_at(length.error().code, path, length.error().detail);
    }
    std::string header(*length, '\0');
    const auto bytes = std::as_writable_bytes(std::span(header));
    SWARM_TRY(file.read(start.size(), bytes));
    const std::uint64_t values = start.size() + *length;
    auto entries = stages::parse_safetensors_header(header, file.size() - values);
    if (entries.has_error()) {
        return refused_at(entries.error().code, path, entries.error().detail);
    }
    if (entries->size() > kTensorsMax - catalogue.size()) {
        return refused_at(ErrorCode::TooLarge, path, "too many tensors");
    }
    for (stages::SafetensorsEntry& entry : *entries) {
        const std::string name = entry.name;
        const std::uint64_t offset = values + entry.begin;
        if (!catalogue.emplace(name, FoundTensor{files.size(), offset, std::move(entry)}).second) {
            return refused_at(
                ErrorCode::Malformed, path, printable(name) + " is in another file, too"
            );
        }
    }
    files.push_back(std::move(opened));
    return {};
}

Result<StoredTensor> as_stored(const std::string& name, const FoundTensor& found) {
    const stages::SafetensorsEntry& entry = found.entry;
    const std::optional<WeightType> type = weight_type(entry.dtype);
    if (!type) {
        return Error{
            ErrorCode::Unsupported,
            Reaction::Reject,
            printable(name) + " is stored as " + entry.dtype +
                "; F32, F16, BF16 and F8_E4M3 can be read"};
    }
    return StoredTensor{
        .shape = entry.shape,
        .type = *type,
        .file = found.file,
        .offset = found.offset,
        .bytes = entry.end - entry.begin};
}

}  // namespace stacking::models

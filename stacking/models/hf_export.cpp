// The half of hf_folder.hpp that writes folders; hf_folder.cpp reads them.
#include "stacking/models/families/family.hpp"
#include "stacking/models/hf_config.hpp"
#include "stacking/models/hf_folder.hpp"
#include "stacking/models/limits.hpp"
#include "stacking/models/tensor_names.hpp"
#include "stages/files/safetensors_header.hpp"
#include "swarm/base/durable_file.hpp"
#include "swarm/base/try.hpp"
#include "swarm/base/write_error.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace stacking::models {

namespace fs = std::filesystem;
using swarm::DurableFile;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::run::TensorSpec;

namespace {

constexpr const char* kElsewhere = "choose another folder";

Result<DurableFile> begin_file(const fs::path& path) {
    return DurableFile::begin(
        path, DurableFile::Readers::All, DurableFile::IfThere::Replace, kElsewhere
    );
}

Result<> write_text(const fs::path& path, const std::string& text) {
    return swarm::write_durably(path, std::as_bytes(std::span(text)), kElsewhere);
}

/// A tensor of the file: one of ours, or several, one below the other.
struct Written {
    TensorPlace place;
    std::map<std::uint64_t, std::string> ours;  // by first row
};

/// Leaves out the head of a tied model, because transformers makes it from the embedding.
std::vector<Written> tensors_to_write(const Architecture& architecture) {
    std::vector<Written> written;
    std::map<std::string, std::size_t> index;
    for (const TensorSpec& tensor : tensors_of(architecture)) {
        if (architecture.tied_embeddings && tensor.name == "head.weight") {
            continue;
        }
        TensorPlace place = place_of(tensor, architecture, Naming::HuggingFace);
        const std::uint64_t first_row = place.first_row;
        const auto [found, is_new] = index.try_emplace(place.name, written.size());
        if (is_new) {
            written.push_back({std::move(place), {}});
        }
        written[found->second].ours.emplace(first_row, tensor.name);
    }
    return written;
}

/// Copies a tensor, a few MiB at a time.
Result<> copy_tensor(
    const ModelSource& model, const std::string& name, float less, DurableFile& file
) {
    const StoredTensor& tensor = model.tensors().find(name)->second;
    const std::uint64_t rows_at_once =
        std::max<std::uint64_t>(1, kReadBytes / (tensor.columns() * sizeof(float)));
    std::vector<float> values;
    for (std::uint64_t row = 0; row < tensor.rows(); row += rows_at_once) {
        const std::uint64_t rows = std::min(rows_at_once, tensor.rows() - row);
        values.resize(rows * tensor.columns());
        SWARM_TRY(model.read_rows(name, {row, rows}, values));
        for (float& value : values) {
            value -= less;
        }
        SWARM_TRY(file.write(std::as_bytes(std::span(values))));
    }
    return {};
}

Result<> write_weights(
    const ModelSource& model, const fs::path& path, const ExportProgress& progress
) {
    const std::vector<Written> tensors = tensors_to_write(model.architecture());
    const bool norms_less_one = family_of(model.architecture()).norms_less_one;
    std::vector<stages::SafetensorsEntry> entries;
    std::uint64_t bytes = 0;
    for (const Written& tensor : tensors) {
        const TensorSpec spec{tensor.place.name, tensor.place.whole};
        const std::uint64_t end = bytes + spec.elements() * sizeof(float);
        entries.push_back({spec.name, "F32", spec.shape, bytes, end});
        bytes = end;
    }
    SWARM_TRY(auto file, begin_file(path));
    const std::string header = stages::make_safetensors_header(entries, "pt");
    SWARM_TRY(file.write(std::as_bytes(std::span(header))));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        for (const auto& [row, name] : tensors[i].ours) {
            const float less = norms_less_one && name.ends_with("norm") ? 1.0F : 0.0F;
            SWARM_TRY(copy_tensor(model, name, less, file));
        }
        progress(entries[i].end, bytes);
    }
    SWARM_TRY(file.finish());
    return {};
}

}  // namespace

Result<> write_hf_folder(
    const ModelSource& model, const fs::path& folder, const ExportProgress& progress
) {
    if (!model.architecture().traits.bottlenecks.layers.empty()) {
        return Error{
            ErrorCode::Unsupported,
            Reaction::Reject,
            "a model with bottlenecks (model.bottleneck) has no form that other programs know; ask "
            "it by `swarm generate --model` or `swarm serve --model`"};
    }
    SWARM_TRY(swarm::make_folder(folder, kElsewhere));
    std::error_code code;
    const bool empty = fs::is_empty(folder, code);
    if (code) {
        return swarm::write_error(folder, code.value(), kElsewhere);
    }
    if (!empty) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            folder.string() + " has files; name another folder"};
    }
    const Architecture& architecture = model.architecture();
    SWARM_TRY(write_weights(model, folder / "model.safetensors", progress));
    SWARM_TRY(write_text(folder / "generation_config.json", make_hf_generation_config(architecture))
    );
    return write_text(folder / "config.json", make_hf_config(architecture));
}

}  // namespace stacking::models

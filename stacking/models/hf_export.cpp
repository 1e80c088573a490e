// The half of hf_folder.hpp that writes folders; hf_folder.cpp reads them.
#include "stacking/models/hf_config.hpp"
#include "stacking/models/hf_folder.hpp"
#include "stacking/models/limits.hpp"
#include "stacking/models/tensor_names.hpp"
#include "stages/files/safetensors_header.hpp"
#include "swarm/base/durable_file.hpp"
#include "swarm/base/try.hpp"
#include "swarm/base/write_error.hpp"

#include <algorithm>
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

/// Leaves out the head of a tied model, because transformers makes it from the embedding.
std::vector<TensorSpec> tensors_to_write(const Architecture& architecture) {
    std::vector<TensorSpec> tensors = tensors_of(architecture);
    if (architecture.tied_embeddings) {
        std::erase_if(tensors, [](const TensorSpec& tensor) {
            return tensor.name == "head.weight";
        });
    }
    return tensors;
}

/// Copies a tensor, a few MiB at a time.
Result<> copy_tensor(const ModelSource& model, const std::string& name, DurableFile& file) {
    const StoredTensor& tensor = model.tensors().find(name)->second;
    const std::uint64_t rows_at_once =
        std::max<std::uint64_t>(1, kReadBytes / (tensor.columns() * sizeof(float)));
    std::vector<float> values;
    for (std::uint64_t row = 0; row < tensor.rows(); row += rows_at_once) {
        const std::uint64_t rows = std::min(rows_at_once, tensor.rows() - row);
        values.resize(rows * tensor.columns());
        SWARM_TRY(model.read_rows(name, {row, rows}, values));
        SWARM_TRY(file.write(std::as_bytes(std::span(values))));
    }
    return {};
}

Result<> write_weights(
    const ModelSource& model, const fs::path& path, const ExportProgress& progress
) {
    const std::vector<TensorSpec> tensors = tensors_to_write(model.architecture());
    std::vector<stages::SafetensorsEntry> entries;
    std::uint64_t bytes = 0;
    for (const TensorSpec& tensor : tensors) {
        const std::uint64_t end = bytes + tensor.elements() * sizeof(float);
        const std::string name = foreign_name(tensor.name, Naming::HuggingFace);
        entries.push_back({name, "F32", tensor.shape, bytes, end});
        bytes = end;
    }
    SWARM_TRY(auto file, begin_file(path));
    const std::string header = stages::make_safetensors_header(entries, "pt");
    SWARM_TRY(file.write(std::as_bytes(std::span(header))));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        SWARM_TRY(copy_tensor(model, tensors[i].name, file));
        progress(entries[i].end, bytes);
    }
    SWARM_TRY(file.finish());
    return {};
}

}  // namespace

Result<> write_hf_folder(
    const ModelSource& model, const fs::path& folder, const ExportProgress& progress
) {
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

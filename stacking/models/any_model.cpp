#include "stacking/models/any_model.hpp"

#include "stacking/models/gguf_model.hpp"
#include "stacking/models/hf_folder.hpp"
#include "stacking/models/run_checkpoint.hpp"
#include "stacking/models/safetensors_files.hpp"

#include <utility>

namespace stacking::models {

namespace fs = std::filesystem;
using swarm::ErrorCode;
using swarm::Result;

Result<ModelSource> open_model(const fs::path& path) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
        return is_run_checkpoint(path) ? open_run_checkpoint(path) : open_hf_folder(path);
    }
    auto file = open_file(path);
    if (file.has_error()) {
        return file.error();
    }
    if (!is_gguf(**file)) {
        return refused_at(
            ErrorCode::Unsupported,
            path,
            "neither a GGUF file, nor a folder of Hugging Face or of a run"
        );
    }
    auto model = open_gguf(std::move(*file));
    if (model.has_error()) {
        return refused_at(model.error().code, path, model.error().detail);
    }
    return model;
}

}  // namespace stacking::models

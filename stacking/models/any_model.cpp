#include "stacking/models/any_model.hpp"

#include "stacking/models/gguf_model.hpp"
#include "stacking/models/gguf_parts.hpp"
#include "stacking/models/hf_folder.hpp"
#include "stacking/models/run_checkpoint.hpp"
#include "stacking/models/safetensors_files.hpp"
#include "swarm/base/try.hpp"

#include <cstddef>
#include <span>
#include <utility>

namespace stacking::models {

namespace fs = std::filesystem;
using swarm::ErrorCode;
using swarm::Result;

namespace {

/// True for the folder of a run, judged by file names only.
bool is_run(const fs::path& folder) {
    std::error_code ignored;
    return fs::exists(folder / "run.toml", ignored) && !fs::exists(folder / "config.json", ignored);
}

}  // namespace

Result<ModelSource> open_model(const fs::path& path) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
        if (is_run_checkpoint(path)) {
            return open_run_checkpoint(path);
        }
        if (is_run(path)) {
            return refused_at(
                ErrorCode::NotFound,
                path,
                "this run has no checkpoint yet; a run writes one at its end, and earlier ones "
                "when [run] checkpoint_every is set"
            );
        }
        return open_hf_folder(path);
    }
    SWARM_TRY(auto file, open_file(path));
    std::byte first{};  // a copy may lack it, which is no question of the format
    if (file->size() > 0) {
        SWARM_TRY(file->read(0, std::span(&first, 1)));
    }
    if (!is_gguf(*file)) {
        return refused_at(
            ErrorCode::Unsupported,
            path,
            "neither a GGUF file, nor a folder of Hugging Face or of a run"
        );
    }
    auto parts = read_gguf_parts(path, std::move(file));
    if (parts.has_error()) {
        return refused_at(parts.error().code, path, parts.error().detail);
    }
    auto model = open_gguf(std::move(parts->files), parts->header);
    if (model.has_error()) {
        return refused_at(model.error().code, path, model.error().detail);
    }
    return model;
}

}  // namespace stacking::models

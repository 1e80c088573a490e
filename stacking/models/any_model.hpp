// Opens a model of any format by its path. The content decides the format, not the name's ending.
//   a file that begins as GGUF does         gguf_model.hpp, with its other parts (gguf_parts.hpp)
//   a folder with checkpoints of a run      run_checkpoint.hpp
//   any other folder                        hf_folder.hpp
// Threading: one thread. Errors: those of each format; Unsupported: a file of another format;
// NotFound: the folder of a run that has no checkpoint yet; Reject.
#pragma once

#include "stacking/models/model_source.hpp"

#include <filesystem>

namespace stacking::models {

swarm::Result<ModelSource> open_model(const std::filesystem::path& path);

}  // namespace stacking::models

// A model as a Hugging Face folder: config.json, generation_config.json, model.safetensors with F32
// tensors, and the files of its tokenizer.
// Threading: the main thread. Errors: those of the model's reader; Usage (Reject): the folder has
// files; StorageFailed (Fatal).
#pragma once

#include "stacking/models/model_source.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "swarm/cli/terminal/console.hpp"

#include <filesystem>

namespace swarm::cli {

/// Writes the files, each of which appears when it is whole, and shows the progress on a terminal.
/// `tokenizer`: null for a model without one.
Result<> write_model_folder(
    const stacking::models::ModelSource& model,
    const stacking::tokenizers::ModelTokenizer* tokenizer,
    const std::filesystem::path& folder,
    Console& console
);

}  // namespace swarm::cli

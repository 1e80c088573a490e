// A model of others by path or name, and the tokenizer beside it.
// Threading: one thread. Errors: those of the readers; Mismatch (Reject) when the tokenizer is of
// another model.
#pragma once

#include "stacking/models/model_source.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"

#include <filesystem>
#include <string>

namespace swarm::cli {

struct OpenModel {
    std::filesystem::path path;
    stacking::models::ModelSource source;
};

/// `name`: a GGUF file, a Hugging Face folder, or what `swarm model fetch` knows.
Result<OpenModel> open_model(const std::string& name);

/// Its tokens are the model's.
Result<stacking::tokenizers::ModelTokenizer> open_tokenizer(const OpenModel& model);

}  // namespace swarm::cli

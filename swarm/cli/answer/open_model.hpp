// A model by path or name, and the tokenizer beside it.
// Threading: one thread. Errors: those of the readers; Mismatch (Reject): the tokenizer or the
// adapters belong to another model.
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

/// `name`: a GGUF file, a Hugging Face folder, the folder of a run, or a name that `swarm model
/// fetch` knows.
Result<OpenModel> open_model(const std::string& name);

/// Adds the adapters of the folder of peft to the model; "": there are none.
Result<OpenModel> open_model(const std::string& name, const std::string& adapter);

/// The tokenizer has the tokens of the model.
Result<stacking::tokenizers::ModelTokenizer> open_tokenizer(const OpenModel& model);

}  // namespace swarm::cli

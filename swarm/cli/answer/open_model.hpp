// A model by path or name, and the tokenizer beside it.
// Threading: one thread. Errors: those of the readers; Mismatch (Reject): the tokenizer or the
// adapters belong to another model.
#pragma once

#include "stacking/models/model_source.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

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

/// The layers behind which the head answers, too, in a run with train.exits; empty for other
/// models.
Result<std::vector<std::uint32_t>> trained_exits(const std::string& name);

/// The tokenizer has the tokens of the model.
Result<stacking::tokenizers::ModelTokenizer> open_tokenizer(const OpenModel& model);

}  // namespace swarm::cli

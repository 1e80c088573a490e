// The tokenizer that lies in a model's files, and its chat template.
//   GGUF file              tokenizer.ggml.*, tokenizer.chat_template
//   Hugging Face folder    tokenizer.json; chat_template.jinja, or chat_template in
//                          tokenizer_config.json
//   checkpoint of a run    none: bytes are the tokens
// Errors: those of the readers of each; a model without a template has none, which is no error.
// Threading: reads files, keeps none open. Cost: reads the GGUF's header, or tokenizer.json, once.
#pragma once

#include "stacking/tokenizers/byte_bpe.hpp"
#include "swarm/base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace stacking::tokenizers {

struct ModelTokenizer {
    ByteBpe bpe;
    std::string chat_template;  // Jinja, for ChatTemplate::recognise(); empty: none
};

swarm::Result<ModelTokenizer> open_tokenizer(const std::filesystem::path& model);

/// Mismatch when the tokenizer has ids that the model has not: it is another model's. A model may
/// have more than its tokenizer; such rows are padding.
swarm::Result<> check_fits(const ByteBpe& bpe, std::uint32_t vocabulary);

/// tokenizer.json, tokenizer_config.json and chat_template.jinja into a Hugging Face folder.
/// StorageFailed (Fatal).
swarm::Result<> write_tokenizer(
    const ModelTokenizer& tokenizer,
    std::optional<std::uint32_t> end_token,
    const std::filesystem::path& folder
);

}  // namespace stacking::tokenizers

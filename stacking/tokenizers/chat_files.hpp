// The chat template in a model's files, and the texts that it may name, such as bos_token.
//   Hugging Face folder    chat_template.jinja, or chat_template in tokenizer_config.json (its
//                          entry `default` where it is a list); the latter's bos_token and others
//   GGUF file              tokenizer.chat_template; the tokens of tokenizer.ggml.bos_token_id ..
// Threading: pure functions; opening reads files and keeps none open. Errors: those of reading a
// text; Malformed (no JSON); Unsupported (a list without `default`). No template is no error.
#pragma once

#include "stacking/models/gguf_header.hpp"
#include "swarm/base/result.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace stacking::tokenizers {

using NamedText = std::pair<std::string, std::string>;

struct ChatFiles {
    std::string jinja{};                 // text of the template; empty: none
    std::vector<NamedText> variables{};  // "bos_token" and its text, and so on
};

swarm::Result<ChatFiles> read_chat_files(const std::filesystem::path& folder);

ChatFiles read_chat_files(const models::GgufHeader& header);

}  // namespace stacking::tokenizers

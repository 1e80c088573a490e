// Answers that need the model's description and tokenizer alone: /v1/models, /v1/models/NAME,
// /tokenize and /detokenize.
// Threading: pure functions. Errors: replies of status 400 and 404.
// Source: the shapes of OpenAI's models, and of vLLM's tokenize and detokenize. A text may come as
// `content`, too, as in llama.cpp.
#pragma once

#include "stacking/api/api_model.hpp"
#include "stacking/api/request_fields.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace stacking::api {

/// `created_unix_s`: when the API began to serve it.
std::string json_of_models(const ApiModel& model, std::int64_t created_unix_s);

Answer<std::string> json_of_model(
    std::string_view name, const ApiModel& model, std::int64_t created_unix_s
);

/// Body: {"prompt": TEXT} or {"messages": [..]}; returns {"tokens", "count", "max_model_len"}.
Answer<std::string> tokenize(std::string_view body, const ApiModel& model, std::int64_t now_unix_s);

/// Body: {"tokens": [..]}; returns {"prompt"}.
Answer<std::string> detokenize(std::string_view body, const ApiModel& model);

}  // namespace stacking::api

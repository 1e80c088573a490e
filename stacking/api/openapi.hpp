// The description of the API in the words of OpenAPI 3.1, for programs that make clients or tests.
// Invariant: its bounds are those of completion_request.cpp; what depends on the model, such as the
// number of tokens, and what ties fields to one another is said in words.
#pragma once

#include <string_view>

namespace stacking::api {

/// JSON.
extern const std::string_view kOpenApi;

}  // namespace stacking::api

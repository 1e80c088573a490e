// The methods of texts, lists, dicts and loops that templates call.
// Invariant: no method changes its value. Those of Python that would are refused by name, as the
// sandbox of chat templates refuses them.
// Threading: one thread per Context. Errors: Malformed, TooLarge; Unsupported (a format with a
// specification).
#pragma once

#include "stacking/tokenizers/jinja/context.hpp"

#include <string_view>

namespace stacking::tokenizers::jinja {

/// Whether `value.name` is a method.
bool has_method(const Value& value, std::string_view name);

/// Calls a method. REQUIRES: has_method(self, name).
Result<Value> call_method(
    Context& context, const Value& self, std::string_view name, const Arguments& given
);

}  // namespace stacking::tokenizers::jinja

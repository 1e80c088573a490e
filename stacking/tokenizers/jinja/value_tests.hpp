// The tests of Jinja: value is name(given).
// Threading: one thread per Context. Errors: Unsupported (an unknown test, by name), Malformed.
#pragma once

#include "stacking/tokenizers/jinja/context.hpp"

#include <string_view>

namespace stacking::tokenizers::jinja {

Result<bool> apply_test(
    Context& context, std::string_view name, const Value& value, const Arguments& given
);

bool is_test(std::string_view name);

}  // namespace stacking::tokenizers::jinja

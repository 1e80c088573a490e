// The functions that every template has: range, dict, namespace, joiner, raise_exception and
// strftime_now.
// Threading: one thread per Context. Errors: Malformed, TooLarge; Mismatch with the template's
// message (raise_exception).
#pragma once

#include "stacking/tokenizers/jinja/context.hpp"

#include <optional>
#include <string_view>

namespace stacking::tokenizers::jinja {

/// Returns the function; nullopt: there is none of this name.
std::optional<Value> find_global(std::string_view name);

/// REQUIRES: `function` is a global, or what one returned.
Result<Value> call_global(Context& context, const Callable& function, const Arguments& given);

}  // namespace stacking::tokenizers::jinja

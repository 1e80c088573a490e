// Values as text: Python's str() and repr(), and the JSON of json.dumps().
// Invariant: bytes of a text keep their origin; what stands around them is the template's.
// Threading: pure functions, but for those that have a Context: one thread. Errors: a value that
// has no text, such as a function; TooLarge.
#pragma once

#include "stacking/tokenizers/jinja/context.hpp"

#include <optional>
#include <string>

namespace stacking::tokenizers::jinja {

/// str(): what {{ value }} prints. Undefined prints nothing.
Result<Text> to_text(const Value& value);

/// repr(): what stands in a list.
Result<Text> to_repr(const Value& value);

/// str() and repr(), paid for.
Result<Text> paid_text(Context& context, const Value& value);
Result<Text> paid_repr(Context& context, const Value& value);

/// repr() of a float: "1.0", "1e-05", "inf".
std::string real_text(double number);

struct JsonStyle {
    bool ensure_ascii = false;
    std::optional<std::string> indent{};  // added per level; nullopt: one line for all
    std::string between_items = ", ";
    std::string after_key = ": ";
    bool sort_keys = false;
};

/// json.dumps(). Errors: a value that JSON does not know.
Result<Text> to_json(const Value& value, const JsonStyle& style);

}  // namespace stacking::tokenizers::jinja

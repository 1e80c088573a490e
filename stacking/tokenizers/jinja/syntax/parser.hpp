// Statements of a template: tokens to the tree that the evaluator runs.
// Known are if, for, set, macro, call, filter, with, generation, raw, break and continue; templates
// of other files (include, import, extends, block) are refused by name, as is a recursive for.
// Threading: pure function. Errors: Malformed with the line; Unsupported; TooLarge.
// Cost: O(tokens). Source: Jinja 3.1's grammar (jinja2/parser.py); the code is own.
#pragma once

#include "stacking/tokenizers/jinja/syntax/syntax.hpp"

#include <string_view>

namespace stacking::tokenizers::jinja {

/// `text`: UTF-8.
Result<Body> parse_template(std::string_view text);

}  // namespace stacking::tokenizers::jinja

// Upper and lower case as Python's str.upper() and str.lower() know them (Unicode 14).
// Invariant: a text without letters beyond ASCII needs no table. Final sigma is the one letter
// whose case depends on its neighbours; it becomes an ordinary sigma here.
// Threading: pure functions.
#pragma once

#include <string>

namespace stacking::tokenizers::jinja {

/// Appends the upper case of a character; that of some has several characters.
void append_upper(std::string& text, char32_t code_point);

void append_lower(std::string& text, char32_t code_point);

}  // namespace stacking::tokenizers::jinja

// The head that all pages have, with the style and the rule that nothing is fetched.
// Threading: stateless.
#pragma once

#include <string>

namespace sim {

/// Returns the begin of a page up to its body. `title`: any text.
std::string page_head(const std::string& title);

/// Returns the text, escaped; a browser may break it after each underscore, and so breaks it
/// nowhere within the words.
std::string breakable(const std::string& text);

}  // namespace sim

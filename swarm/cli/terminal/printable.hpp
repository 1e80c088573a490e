// Text of others on our terminal: names in a run file, reasons of a peer, words of a model. A
// terminal obeys control characters, so whoever writes such a text could change the title, hide a
// line, or show words in another order than they are.
// Threading: pure functions. Errors: none. Cost: one pass.
#pragma once

#include <string>
#include <string_view>

namespace swarm::cli {

/// Returns the text with each control character written out, such as \x1b: all but the line break
/// and the tab, those of eight bits, and those that turn the direction of writing. Bytes that are
/// no UTF-8 are written out, too.
std::string printable(std::string_view text);

}  // namespace swarm::cli

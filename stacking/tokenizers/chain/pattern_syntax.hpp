// Turns a regular expression of the library Oniguruma, which tokenizer.json has, into one that
// PCRE2 reads the same way. Only constructs that mean the same in both are taken; white space and
// digits are written out, because each library has its own idea of them.
// Threading: a pure function. Errors: Unsupported (a construct that is not known here; the text
// names it), TooLarge; Reject. Cost: one pass.
#pragma once

#include "swarm/base/result.hpp"

#include <string>
#include <string_view>

namespace stacking::tokenizers {

/// Maximum bytes of an expression. The longest in use has 450.
inline constexpr std::size_t kPatternBytesMax = 4096;

swarm::Result<std::string> to_pcre2(std::string_view pattern);

}  // namespace stacking::tokenizers

// A rendered conversation in token ids. Names of special tokens mean these tokens where the
// template wrote every byte of them; a name that holds a byte of a message is text.
// Invariant: the special tokens among the ids are exactly those that the template wrote, in its
// order; this is checked on the ids. When no name holds a byte of a message, the ids are those of
// ModelTokenizer::encode() of the whole text with special tokens recognised, so that merges go over
// the borders between template and messages as they did in training.
// Threading: pure function. Errors: those of ModelTokenizer::encode(); Malformed: the tokenizer
// makes a special token out of other bytes than its name; Reject.
#pragma once

#include "stacking/tokenizers/jinja/text.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "swarm/base/result.hpp"

#include <cstdint>
#include <vector>

namespace stacking::tokenizers {

swarm::Result<std::vector<std::uint32_t>> encode_marked(
    const jinja::Text& text, const ModelTokenizer& tokenizer
);

}  // namespace stacking::tokenizers

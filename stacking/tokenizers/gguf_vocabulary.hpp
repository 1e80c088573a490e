// The tokenizer that a GGUF file carries in its metadata: tokenizer.ggml.model "gpt2" with pre
// "smollm", which is ByteBpe's chain.
// Errors: Malformed, Unsupported (another tokenizer, tokens that are added by itself); Reject.
// Threading: pure function.
#pragma once

#include "stacking/models/gguf_header.hpp"
#include "stacking/tokenizers/vocabulary.hpp"
#include "swarm/base/result.hpp"

namespace stacking::tokenizers {

swarm::Result<Vocabulary> read_gguf_vocabulary(const models::GgufHeader& header);

}  // namespace stacking::tokenizers

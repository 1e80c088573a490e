// Reads the tokenizer in the metadata of a GGUF file: tokenizer.ggml.model "gpt2" with pre
// "smollm", which is the chain of ByteBpe.
// Threading: pure function. Errors: Malformed, Unsupported (another tokenizer, or one that adds
// tokens to every text); Reject. Cost: a copy of the tokens and merges.
#pragma once

#include "stacking/models/gguf_header.hpp"
#include "stacking/tokenizers/vocabulary.hpp"
#include "swarm/base/result.hpp"

namespace stacking::tokenizers {

swarm::Result<Vocabulary> read_gguf_vocabulary(const models::GgufHeader& header);

}  // namespace stacking::tokenizers

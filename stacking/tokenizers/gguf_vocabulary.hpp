// Reads the tokenizer in the metadata of a GGUF file: tokenizer.ggml.model "gpt2" with one of the
// names in tokenizer.ggml.pre that gguf_chains knows, or "llama", which is SentencePiece's BPE.
// Threading: pure function. Errors: Malformed, Unsupported (another tokenizer; the text names it);
// Reject. Cost: a copy of the tokens and merges.
#pragma once

#include "stacking/models/gguf_header.hpp"
#include "stacking/tokenizers/vocabulary.hpp"
#include "swarm/base/result.hpp"

namespace stacking::tokenizers {

swarm::Result<Vocabulary> read_gguf_vocabulary(const models::GgufHeader& header);

}  // namespace stacking::tokenizers

// The file of a run's tokenizer, which lies in its folder and checkpoints and travels to clients:
// SentencePiece's bytes, or the text of tokenizer.json, where the member "swarm" holds the chat
// template and the texts that it may name. So one digest covers all of it.
// Threading: pure functions. Errors: those of both readers (Malformed, Unsupported, TooLarge).
#pragma once

#include "stacking/tokenizers/model_tokenizer.hpp"
#include "swarm/base/digest.hpp"
#include "swarm/base/result.hpp"

#include <string>

namespace stacking::tokenizers {

std::string make_tokenizer_file(const ModelTokenizer& tokenizer);

/// Equal digests: equal ids of every text. The chat template does not count.
swarm::Digest vocabulary_digest(const ModelTokenizer& tokenizer);

/// The content decides which of the two it is.
swarm::Result<ModelTokenizer> parse_tokenizer_file(std::string file);

}  // namespace stacking::tokenizers

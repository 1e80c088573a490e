// tokenizer.model of a model that others have trained: the library's file with BPE, as Llama 2,
// Mistral, Phi-3 and Gemma have it. It becomes a Vocabulary with scores; the library is not asked.
// Threading: pure functions. Errors: Malformed, Unsupported (another model, or a table of
// characters to replace; the text names it), NotFinite, TooLarge; Reject. Cost: O(bytes).
// Source: sentencepiece_model.proto.
#pragma once

#include "stacking/tokenizers/vocabulary.hpp"
#include "swarm/base/result.hpp"

#include <cstdint>
#include <string_view>

namespace stacking::tokenizers {

/// Maximum bytes of the file. That of Gemma 3 has 5 MB.
inline constexpr std::uint64_t kSentencePieceBytesMax = 32ULL << 20;

/// Tokens around a text, which tokenizer_config.json switches on.
struct TokensAround {
    bool begin = true;
    bool end = false;
};

/// Whether a file has tokens such as <s>, which the tokenizers of our own runs do not have.
bool has_control_tokens(std::string_view file);

swarm::Result<Vocabulary> read_sentence_piece_file(std::string_view file, TokensAround around);

}  // namespace stacking::tokenizers

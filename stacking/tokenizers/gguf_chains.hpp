// The chains that names in tokenizer.ggml.pre stand for.
// Threading: pure functions. Errors: nullopt: the name is not known. Source: llama.cpp, which has a
// list of expressions for each name, and the tokenizer.json of the models that have it; the text is
// own.
#pragma once

#include "stacking/tokenizers/chain/chain_parts.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace stacking::tokenizers {

struct GgufChain {
    ChainParts parts;
    bool ignore_merges = false;
    bool adds_begin_token = false;  // unless the file says otherwise
};

/// `pre`: of a file whose tokenizer.ggml.model is "gpt2".
std::optional<GgufChain> find_gguf_chain(std::string_view pre);

/// The chain of SentencePiece: spaces are U+2581.
ChainParts sentence_piece_parts(bool space_prefix);

}  // namespace stacking::tokenizers

// tokenizer.json of the library huggingface/tokenizers, for the one chain that ByteBpe follows:
//   normalizer null; pre_tokenizer Sequence [Digits individual, ByteLevel]; model BPE, no extras;
//   post_processor null or ByteLevel; decoder ByteLevel; added tokens special, and not stripped
// Anything else would give other ids, so it is refused: transformers 5.23 writes this model's file
// without the Digits, for example.
// Errors: Malformed, Unsupported (another chain, named); Reject. Threading: pure functions.
#pragma once

#include "stacking/tokenizers/vocabulary.hpp"
#include "swarm/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace stacking::tokenizers {

/// Llama 3's has 9 MB, or 17 MB with merges as lists.
inline constexpr std::uint64_t kTokenizerJsonBytesMax = 64ULL << 20;

swarm::Result<Vocabulary> parse_tokenizer_json(std::string_view json);

/// What parse_tokenizer_json() and the library read as the same tokenizer.
std::string make_tokenizer_json(const Vocabulary& vocabulary);

}  // namespace stacking::tokenizers

// tokenizer.json of the library huggingface/tokenizers, for the one chain that ByteBpe follows:
//   normalizer null; pre_tokenizer Sequence [Digits individual, ByteLevel]; model BPE, no extras;
//   post_processor null or ByteLevel; decoder ByteLevel; added tokens special, and not stripped
// Any other chain would give other ids, so it is refused. Example: transformers 5.23 writes the
// file of this model without the Digits.
// Threading: pure functions. Errors: Malformed, Unsupported (another chain; the text names the
// part); Reject. Cost: O(bytes).
#pragma once

#include "stacking/tokenizers/vocabulary.hpp"
#include "swarm/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace stacking::tokenizers {

/// Maximum bytes of the file. That of Llama 3 has 9 MB, or 17 MB with merges as lists.
inline constexpr std::uint64_t kTokenizerJsonBytesMax = 64ULL << 20;

swarm::Result<Vocabulary> parse_tokenizer_json(std::string_view json);

/// Writes a text that parse_tokenizer_json() and the library read as the same tokenizer.
std::string make_tokenizer_json(const Vocabulary& vocabulary);

}  // namespace stacking::tokenizers

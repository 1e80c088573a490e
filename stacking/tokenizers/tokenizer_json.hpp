// tokenizer.json of the library huggingface/tokenizers, with the model BPE and a chain of the steps
// that chain/ knows. Anything else would give other ids, so it is refused by its name.
// Threading: pure functions. Errors: Malformed, Unsupported (another model or step; the text names
// it), TooLarge; Reject. Cost: O(bytes).
#pragma once

#include "stacking/tokenizers/vocabulary.hpp"
#include "swarm/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace stacking::tokenizers {

/// Maximum bytes of the file. That of Gemma 3 has 33 MB, and that of Llama 3 17 MB.
inline constexpr std::uint64_t kTokenizerJsonBytesMax = 64ULL << 20;

swarm::Result<Vocabulary> parse_tokenizer_json(std::string_view json);

/// Writes a text that parse_tokenizer_json() and the library read as the same tokenizer. Scores
/// become merges.
std::string make_tokenizer_json(const Vocabulary& vocabulary);

/// Makes the part post_processor that puts tokens around a text, for files without one.
std::string make_template(
    const Vocabulary& vocabulary,
    const std::vector<std::uint32_t>& begin_tokens,
    const std::vector<std::uint32_t>& end_tokens
);

}  // namespace stacking::tokenizers

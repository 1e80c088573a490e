// Trains a byte-level BPE tokenizer on a text: the most frequent pair of neighbours within words
// becomes a token, again and again.
// Invariant: the same text and number of tokens give the same vocabulary; of pairs that are equally
// frequent, the one with the lower ids goes first. Every text has tokens, whatever its characters.
// Token 0 is <|endoftext|>, then come the 256 bytes in their order, then the merges.
// Threading: pure function. Errors (Reject): Malformed (no UTF-8), Mismatch (the text gives fewer
// tokens), TooLarge. Cost: 10 s for 64 MB of prose; more is read in evenly spread parts.
// Source: Sennrich et al. 2016, section 3.2, over the words of GPT-2 with single digits. Deviation:
// words above kTrainedWordBytesMax do not count, which bounds the cost of a merge.
#pragma once

#include "stacking/tokenizers/vocabulary.hpp"
#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stacking::tokenizers {

inline constexpr std::size_t kTrainedWordBytesMax = 256;
inline constexpr std::size_t kTrainingTextBytesMax = 64U << 20;
inline constexpr std::uint32_t kTrainedTokensMin = 257;
inline constexpr std::uint32_t kTrainedTokensMax = 1U << 16;
inline constexpr const char* kTrainedEndToken = "<|endoftext|>";

/// Returns a vocabulary with exactly `tokens` tokens, which Bpe::make() takes.
swarm::Result<Vocabulary> train_bpe(std::string_view text, std::uint32_t tokens);

}  // namespace stacking::tokenizers

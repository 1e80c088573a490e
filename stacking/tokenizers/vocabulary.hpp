// The parts of a BPE tokenizer, for every file format.
// Threading: data. Errors: none; Bpe::make() checks that the parts fit together.
#pragma once

#include "stacking/tokenizers/chain/chain_parts.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stacking::tokenizers {

/// Maximum tokens, and so ids; the largest vocabularies in use have 2^18. SentencePiece's
/// vocabularies have more merges than tokens: Gemma's has 580,000.
inline constexpr std::size_t kTokensMax = 1U << 20;
inline constexpr std::size_t kMergesMax = 1U << 22;

/// Maximum tokens that are looked for in a text before it is cut into words, and bytes of one;
/// Gemma 3 has 6,400, the longest of 100 bytes.
inline constexpr std::size_t kAddedTokensMax = 1U << 14;
inline constexpr std::size_t kAddedTokenBytesMax = 512;

/// Maximum bytes of a token, as it is stored and in a text; the longest in use have a few hundred.
inline constexpr std::size_t kTokenBytesMax = 4096;

/// The score of a token that merges do not make.
inline constexpr float kNoScore = -std::numeric_limits<float>::infinity();

/// How a token is looked for. A special token that has no such entry is looked for as it is.
struct AddedToken {
    std::uint32_t id = 0;
    bool takes_left_space = false;
    bool takes_right_space = false;
    bool whole_word = false;  // only where no letter stands beside it
    bool normalized = false;  // in the text that the normalizer made
};

struct Vocabulary {
    /// By id: the token in the letters of its alphabet, or the text itself of an added token.
    std::vector<std::string> tokens;
    /// By rank: two tokens, which together are a token.
    std::vector<std::pair<std::string, std::string>> merges;
    /// By id, instead of merges: of the tokens that two neighbours can become, the one with the
    /// highest score is made first.
    std::vector<float> scores;
    std::vector<std::uint32_t> special_tokens;  // ids
    std::vector<AddedToken> added_tokens;
    std::optional<std::uint32_t> unknown;  // stands for text without a token
    bool unknowns_merge = false;           // neighbours of the unknown become one
    bool byte_fallback = false;            // text without a token becomes tokens of its bytes
    bool ignore_merges = false;            // a word that is a token is this token
    ChainParts parts;
};

/// Splits "a b" into (a, b). Returns nullopt unless there is exactly one space, with text on both
/// sides.
std::optional<std::pair<std::string, std::string>> split_merge(std::string_view text);

/// Returns "<0x0A>", the token of a byte.
std::string byte_token(std::uint8_t byte);

/// Returns the byte of such a token, or nullopt.
std::optional<std::uint8_t> byte_of_token(std::string_view token);

/// Returns merges, in the order of their ranks, that make the tokens as the scores do; two ways to
/// one token have ranks one after the other.
std::vector<std::pair<std::string, std::string>> merges_of_scores(const Vocabulary& vocabulary);

}  // namespace stacking::tokenizers

// The parts of a byte-level BPE tokenizer, for every file format.
// Threading: data. Errors: none; ByteBpe::make() checks that the parts fit together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stacking::tokenizers {

/// Maximum tokens, and so ids and merges; the largest vocabularies in use have 260,000.
inline constexpr std::size_t kTokensMax = 1U << 20;

/// Maximum special tokens; Llama 3 has 256.
inline constexpr std::size_t kSpecialTokensMax = 512;

struct Vocabulary {
    /// By id: the token in letters of the byte alphabet, or the text itself of a special token.
    std::vector<std::string> tokens;
    /// By rank: two tokens in letters, which together are a token.
    std::vector<std::pair<std::string, std::string>> merges;
    std::vector<std::uint32_t> special_tokens;  // ids
};

/// Splits "a b" into (a, b). Returns nullopt unless there is exactly one space, with text on both
/// sides.
std::optional<std::pair<std::string, std::string>> split_merge(std::string_view text);

}  // namespace stacking::tokenizers

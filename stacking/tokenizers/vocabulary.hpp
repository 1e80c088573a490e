// What a byte-level BPE tokenizer is made of, whatever file it came from.
// Threading: data. Errors: none; ByteBpe::make() says whether it fits together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stacking::tokenizers {

/// Tokens, and so ids and merges, that are read; the largest vocabularies in use have 260,000.
inline constexpr std::size_t kTokensMax = 1U << 20;

/// Special tokens; Llama 3 has 256.
inline constexpr std::size_t kSpecialTokensMax = 512;

struct Vocabulary {
    /// By id: letters of the byte alphabet; of special tokens the text itself.
    std::vector<std::string> tokens;
    /// By rank: two tokens' letters, which together are a token's.
    std::vector<std::pair<std::string, std::string>> merges;
    std::vector<std::uint32_t> special_tokens;  // ids
};

/// "a b" -> (a, b); nullopt unless there is exactly one space, and something on both sides of it.
std::optional<std::pair<std::string, std::string>> split_merge(std::string_view text);

}  // namespace stacking::tokenizers

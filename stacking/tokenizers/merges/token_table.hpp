// Ids of tokens by their text: a hash table, because making a tokenizer of 2^18 tokens looks up two
// million texts, and a tree misses the caches at each of its levels.
// Invariant: it is looked into and never walked through, so nothing depends on the hash. A file
// whose tokens were chosen to collide makes it as slow as a tree and no slower: a token that finds
// no place within kProbesMax goes into one.
// Threading: const and any thread. Errors: none. Cost: 64 bytes per token. Source: own.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace stacking::tokenizers {

class TokenTable {
 public:
    static constexpr std::size_t kProbesMax = 32;

    /// Has room for `tokens` tokens, and for no more.
    explicit TokenTable(std::size_t tokens = 0)
        : slots_(std::bit_ceil(2 * std::max<std::size_t>(1, tokens))) {}

    /// Returns false when the text is there, which then keeps its id. REQUIRES: the text keeps its
    /// address while the table is used, and is not empty.
    bool add(std::string_view text, std::uint32_t id) {
        if (find(text)) {
            return false;
        }
        const std::uint64_t hash = hash_of(text);
        for (std::size_t probe = 0; probe < kProbesMax; ++probe) {
            Slot& slot = slots_[(hash + probe) & (slots_.size() - 1)];
            if (slot.text.empty()) {
                slot = {text, static_cast<std::uint32_t>(hash >> 32U), id};
                return true;
            }
        }
        crowded_.emplace(text, id);
        return true;
    }

    [[nodiscard]] std::optional<std::uint32_t> find(std::string_view text) const {
        const std::uint64_t hash = hash_of(text);
        for (std::size_t probe = 0; probe < kProbesMax; ++probe) {
            const Slot& slot = slots_[(hash + probe) & (slots_.size() - 1)];
            if (slot.text.empty()) {
                return std::nullopt;
            }
            if (slot.tag == static_cast<std::uint32_t>(hash >> 32U) && slot.text == text) {
                return slot.id;
            }
        }
        const auto found = crowded_.find(text);
        return found == crowded_.end() ? std::nullopt : std::optional(found->second);
    }

 private:
    struct Slot {
        std::string_view text{};  // empty: the slot is free
        std::uint32_t tag = 0;    // upper half of the hash, which most other texts do not have
        std::uint32_t id = 0;
    };

    /// Mixes eight bytes at a time, with the two halves of a product.
    static std::uint64_t hash_of(std::string_view text) {
        constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15U;
        std::uint64_t hash = text.size() * kFactor;
        for (std::size_t at = 0; at < text.size(); at += sizeof(std::uint64_t)) {
            std::uint64_t word = 0;
            std::memcpy(&word, text.data() + at, std::min(text.size() - at, sizeof word));
            __extension__ using Wide = unsigned __int128;
            const Wide product = Wide{hash ^ word ^ kFactor} * 0xd6e8feb86659fd93U;
            hash = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
        }
        return hash ^ (hash >> 29U);
    }

    std::vector<Slot> slots_;
    std::map<std::string_view, std::uint32_t> crowded_;  // tokens that found no slot
};

}  // namespace stacking::tokenizers

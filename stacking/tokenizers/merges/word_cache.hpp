// The tokens of words that came before: most words of a long text do, and merging is what encoding
// takes its time for. A slot holds one word, and the next word with the same slot takes its place.
// Invariant: what add() gives is what keep() got for the same word. So ids do not depend on the
// cache, as long as it is used with one tokenizer alone.
// Threading: one thread. Errors: none. Memory: 4 MiB. Cost: O(bytes of the word).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace stacking::tokenizers {

class WordCache {
 public:
    static constexpr std::size_t kWordBytesMax = 24;
    static constexpr std::size_t kIdsMax = 8;
    static constexpr std::size_t kSlots = 1U << 16;

    WordCache() : slots_(kSlots) {}

    /// Appends the tokens of the word; false: it is not here.
    bool add(std::string_view word, std::vector<std::uint32_t>& ids) const {
        if (word.empty() || word.size() > kWordBytesMax) {
            return false;
        }
        const Slot& slot = slots_[slot_of(word)];
        if (slot.bytes != word.size() ||
            std::memcmp(slot.word.data(), word.data(), word.size()) != 0) {
            return false;
        }
        ids.insert(ids.end(), slot.ids.begin(), slot.ids.begin() + slot.count);
        return true;
    }

    void keep(std::string_view word, std::span<const std::uint32_t> ids) {
        if (word.empty() || word.size() > kWordBytesMax || ids.size() > kIdsMax) {
            return;
        }
        Slot& slot = slots_[slot_of(word)];
        slot.bytes = static_cast<std::uint8_t>(word.size());
        slot.count = static_cast<std::uint8_t>(ids.size());
        std::memcpy(slot.word.data(), word.data(), word.size());
        std::copy(ids.begin(), ids.end(), slot.ids.begin());
    }

 private:
    struct Slot {
        std::array<std::uint32_t, kIdsMax> ids{};
        std::array<char, kWordBytesMax> word{};
        std::uint8_t bytes = 0;  // 0: the slot is empty
        std::uint8_t count = 0;
    };

    static std::size_t slot_of(std::string_view word) {
        std::uint64_t hash = word.size();
        for (std::size_t at = 0; at < word.size(); at += sizeof hash) {
            std::uint64_t eight = 0;
            std::memcpy(&eight, word.data() + at, std::min(sizeof eight, word.size() - at));
            hash = (hash ^ eight) * 0x9e3779b97f4a7c15;
            hash ^= hash >> 32U;
        }
        return hash % kSlots;
    }

    std::vector<Slot> slots_;
};

}  // namespace stacking::tokenizers

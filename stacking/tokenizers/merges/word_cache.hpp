// The tokens of words that came before: most words of a long text do, and merging is what encoding
// takes its time for. A word has two slots; a new word pushes out the older of the two in them.
// Invariant: what add() gives is what keep() got for the same word. So ids do not depend on the
// cache, as long as it is used with one tokenizer alone.
// Threading: one thread. Errors: none. Memory: 4 MiB. Cost: O(bytes of the word), and one or two
// cache lines, which lie far away in a text of many words.
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
        const Letters letters = letters_of(word);
        const Slot* const newer = &slots_[newer_slot(letters)];
        for (const Slot* const slot : {newer, newer + 1}) {
            if (slot->holds(word.size(), letters)) {
                ids.insert(ids.end(), slot->ids.begin(), slot->ids.begin() + slot->count);
                return true;
            }
        }
        return false;
    }

    void keep(std::string_view word, std::span<const std::uint32_t> ids) {
        if (word.empty() || word.size() > kWordBytesMax || ids.size() > kIdsMax) {
            return;
        }
        const Letters letters = letters_of(word);
        Slot* const newer = &slots_[newer_slot(letters)];
        if (!newer->holds(word.size(), letters)) {
            newer[1] = newer[0];
        }
        newer->letters = letters;
        newer->bytes = static_cast<std::uint8_t>(word.size());
        newer->count = static_cast<std::uint8_t>(ids.size());
        std::copy(ids.begin(), ids.end(), newer->ids.begin());
    }

 private:
    /// The bytes of a word, filled up with zeros.
    using Letters = std::array<std::uint64_t, kWordBytesMax / sizeof(std::uint64_t)>;

    /// A slot is as large as a cache line, so that a look takes one access to memory, not two.
    struct alignas(64) Slot {
        Letters letters{};
        std::array<std::uint32_t, kIdsMax> ids{};
        std::uint8_t bytes = 0;  // size of the word; 0: the slot is empty
        std::uint8_t count = 0;  // number of ids

        [[nodiscard]] bool holds(std::size_t size, const Letters& word) const {
            return bytes == size && letters == word;
        }
    };

    static Letters letters_of(std::string_view word) {
        Letters letters{};
        std::memcpy(letters.data(), word.data(), word.size());
        return letters;
    }

    /// The word's other slot is the next one.
    static std::size_t newer_slot(const Letters& letters) {
        std::uint64_t hash = 0;
        for (const std::uint64_t eight : letters) {
            hash = (hash ^ eight) * 0x9e3779b97f4a7c15;
            hash ^= hash >> 32U;
        }
        return hash % (kSlots / 2) * 2;
    }

    std::vector<Slot> slots_;
};

}  // namespace stacking::tokenizers

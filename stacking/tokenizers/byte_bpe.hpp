// Byte-level BPE of SmolLM2. Special tokens are cut out first, where the caller allows it; the rest
// is cut into words (WordSplitter), written in the alphabet of GPT-2, and merged by rank, leftmost
// pair first.
// Invariant: the ids are those of the tokenizers library with that chain. As there, a byte without
// a token is dropped: SmolLM2 lacks 04 06 13 14 16 1D, and C0 C1 F1 F2 F5-FF, which begin
// characters from U+40000 on. So a text of such bytes has no ids; any other text comes back from
// decode().
// Threading: const and any thread. Errors: Malformed (a vocabulary that contradicts itself; a text
// that is no UTF-8), TooLarge, Mismatch (an unknown id); Reject. Cost: for a text of n bytes
// O(n log n) within a word, and at worst n x special tokens. Source: inference in the library
// huggingface/tokenizers (models/bpe); the code is own.
#pragma once

#include "stacking/tokenizers/vocabulary.hpp"
#include "stacking/tokenizers/word_splitter.hpp"
#include "swarm/base/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stacking::tokenizers {

/// Whether the name of a special token in a text means that token. Use AsText for a text that a
/// user typed: otherwise the text could end its own chat message and begin another one.
enum class SpecialTokens { AsText, Recognised };

class ByteBpe {
 public:
    static constexpr std::size_t kTextBytesMax = 16U << 20;

    static swarm::Result<ByteBpe> make(Vocabulary vocabulary);

    [[nodiscard]] swarm::Result<std::vector<std::uint32_t>> encode(
        std::string_view text, SpecialTokens special
    ) const;

    /// Returns the bytes of the tokens one after another, with the names of special tokens. Any
    /// piece of the bytes may end within a character: see Utf8Stream.
    [[nodiscard]] swarm::Result<std::string> decode(std::span<const std::uint32_t> ids) const;

    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(bytes_.size()); }

    [[nodiscard]] bool is_special(std::uint32_t id) const;
    [[nodiscard]] std::optional<std::uint32_t> find_special(std::string_view name) const;

    [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
    struct Merge {
        std::uint64_t pair = 0;  // left id in the upper half, right id in the lower
        std::uint32_t rank = 0;
        std::uint32_t result = 0;
    };

    using Ids = std::map<std::string_view, std::uint32_t>;
    class Word;

    explicit ByteBpe(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

    swarm::Result<> add_special_tokens();
    swarm::Result<Ids> add_tokens();
    swarm::Result<> add_merges(const Ids& ids);
    [[nodiscard]] const Merge* find_merge(std::uint32_t left, std::uint32_t right) const;
    [[nodiscard]] std::optional<std::uint32_t> special_at(std::string_view text) const;
    [[nodiscard]] swarm::Result<> encode_part(
        std::string_view text, std::vector<std::uint32_t>& ids
    ) const;

    Vocabulary vocabulary_;
    WordSplitter splitter_;
    std::vector<std::string> bytes_;                             // by id
    std::array<std::optional<std::uint32_t>, 256> byte_tokens_;  // by byte
    std::vector<Merge> merges_;                                  // by pair
    std::vector<bool> special_;                                  // by id
    std::vector<std::uint32_t> special_by_length_;               // longest first
    std::array<bool, 256> begins_special_{};                     // by first byte
};

}  // namespace stacking::tokenizers

// The model of a BPE tokenizer: makes tokens of one word by merging neighbours.
// Invariant: of all merges that a word allows, the one with the lowest rank goes first, then the
// one further left. No word becomes a special token.
// Threading: const and any thread; one thread per BpeMerger. Errors: Malformed (merges of tokens
// that are none, or twice the same), TooLarge, Unsupported; Reject. Cost: O(n log n) for a word of
// n bytes; making it takes a pass over tokens and merges, and for scores one look-up per character.
#pragma once

#include "stacking/tokenizers/chain/chain.hpp"
#include "stacking/tokenizers/merges/token_table.hpp"
#include "stacking/tokenizers/merges/word_cache.hpp"
#include "stacking/tokenizers/vocabulary.hpp"
#include "swarm/base/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stacking::tokenizers {

class BpeModel {
 public:
    /// REQUIRES: `vocabulary.tokens` keep their addresses while the model is used. `special`: by
    /// id.
    static swarm::Result<BpeModel> make(
        const Vocabulary& vocabulary, Alphabet alphabet, const std::vector<bool>& special
    );

 private:
    friend class BpeMerger;

    struct Merge {
        std::uint64_t pair = 0;  // left id in the upper half, right id in the lower
        std::uint32_t rank = 0;
        std::uint32_t result = 0;
    };

    using Id = std::optional<std::uint32_t>;

    BpeModel() = default;

    void add_symbols(const Vocabulary& vocabulary, const std::vector<bool>& special);
    swarm::Result<> add_merges(const Vocabulary& vocabulary, const std::vector<bool>& special);
    swarm::Result<> add_scored_merges(const Vocabulary& vocabulary);
    swarm::Result<> sort_merges();
    [[nodiscard]] Id find(std::string_view token) const;
    [[nodiscard]] const Merge* find_merge(std::uint32_t left, std::uint32_t right) const;

    Alphabet alphabet_ = Alphabet::Bytes;
    TokenTable ids_;                           // no special ones
    std::array<Id, 256> letters_{};            // by byte: its letter, or ASCII
    std::array<Id, 256> byte_tokens_{};        // by byte: <0x00> and so on
    std::vector<Merge> merges_;                // by pair
    std::vector<std::uint32_t> first_merges_;  // by left id: the first merge of it or later
    Id unknown_;
    bool unknowns_merge_ = false;
    bool byte_fallback_ = false;
    bool ignore_merges_ = false;
};

/// Encodes words, one after another.
class BpeMerger {
 public:
    /// `model` and `words` outlive this object. `words`: null, or a cache of
    /// this model's words.
    explicit BpeMerger(const BpeModel& model, WordCache* words = nullptr)
        : model_(model), words_(words) {}

    /// Appends the tokens of a word.
    void encode(std::string_view word, std::vector<std::uint32_t>& ids);

    /// Characters, or bytes, without a token so far.
    [[nodiscard]] std::size_t lost() const { return lost_; }

 private:
    struct Symbol {
        std::uint32_t token = 0;
        std::size_t previous = 0;  // index; beyond the end: no symbol
        std::size_t next = 0;      // index; beyond the end: no symbol
        bool merged_away = false;
    };

    /// A possible merge. The lower rank goes first, then the one further left.
    struct Candidate {
        std::uint32_t rank = 0;
        std::size_t left = 0;

        bool operator>(const Candidate& other) const {
            return std::pair(rank, left) > std::pair(other.rank, other.left);
        }
    };

    void encode_new(std::string_view word, std::vector<std::uint32_t>& ids);
    void begin(std::string_view word);
    void begin_unit(std::string_view unit);
    void flush_unknown();
    void add_symbol(std::uint32_t token);
    [[nodiscard]] const BpeModel::Merge* merge_at(std::size_t left) const;
    void consider(std::size_t left);
    void merge(const Candidate& candidate);

    const BpeModel& model_;
    WordCache* words_;  // null: none
    std::vector<Symbol> symbols_;
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> waiting_;
    bool unknown_waits_ = false;  // an unknown token is not yet a symbol
    std::size_t lost_ = 0;
};

}  // namespace stacking::tokenizers

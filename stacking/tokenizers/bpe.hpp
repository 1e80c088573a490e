// BPE: added tokens are cut out of a text first, the special ones only where the caller allows it;
// the rest is changed by the normalizer, cut into words, written in the alphabet of the tokens
// (letters of bytes, or characters), and merged by rank, leftmost pair first.
// Invariant: the ids are those of the tokenizers library with the same chain; no text that a user
// typed becomes a special token. As there, text without a token is dropped where the tokenizer has
// neither byte fallback nor an unknown token.
// Threading: const and any thread. Errors: Malformed (a vocabulary that contradicts itself; a text
// that is no UTF-8), Unsupported, TooLarge, Mismatch (an unknown id); Reject. Cost: for a text of n
// bytes O(n log n) within a word. Source: inference in the library huggingface/tokenizers
// (models/bpe), and SentencePiece's bpe_model; the code is own.
#pragma once

#include "stacking/tokenizers/added_tokens.hpp"
#include "stacking/tokenizers/chain/chain.hpp"
#include "stacking/tokenizers/merges/bpe_model.hpp"
#include "stacking/tokenizers/vocabulary.hpp"
#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stacking::tokenizers {

/// Whether the name of a special token in a text means that token. Use AsText for a text that a
/// user typed: otherwise the text could end its own chat message and begin another one.
enum class SpecialTokens { AsText, Recognised };

/// A part of a text. Words and tokens may reach from one part into the next.
struct TextPart {
    std::string_view text;
    SpecialTokens special = SpecialTokens::AsText;
};

/// The tokens of a text, and the number of its characters, or bytes, that have none.
struct CountedTokens {
    std::vector<std::uint32_t> ids;
    std::size_t lost = 0;
};

class Bpe {
 public:
    static constexpr std::size_t kTextBytesMax = 16U << 20;

    static swarm::Result<Bpe> make(Vocabulary vocabulary);

    Bpe(Bpe&&) noexcept = default;
    Bpe& operator=(Bpe&&) noexcept = default;
    Bpe(const Bpe&) = delete;  // tables point into the vocabulary
    Bpe& operator=(const Bpe&) = delete;
    ~Bpe() = default;

    /// Returns the tokens of a text, without those that belong around it. `words`: null, or a
    /// cache for this tokenizer alone, which a caller with many texts keeps between them.
    [[nodiscard]] swarm::Result<std::vector<std::uint32_t>> encode(
        std::string_view text, SpecialTokens special, WordCache* words = nullptr
    ) const;
    [[nodiscard]] swarm::Result<std::vector<std::uint32_t>> encode(std::span<const TextPart> parts
    ) const;

    [[nodiscard]] swarm::Result<CountedTokens> encode_counted(
        std::string_view text, SpecialTokens special, WordCache* words = nullptr
    ) const;

    /// Returns the bytes of the tokens one after another, with the names of special tokens. Any
    /// piece of the bytes may end within a character: see Utf8Stream.
    [[nodiscard]] swarm::Result<std::string> decode(std::span<const std::uint32_t> ids) const;

    /// Returns the bytes of a whole text: without the space that encoding put before it.
    [[nodiscard]] swarm::Result<std::string> decode_whole(std::span<const std::uint32_t> ids) const;

    /// Tokens that belong before a text and after it, such as <s>. Whoever makes a prompt puts them
    /// there, once; encode() does not.
    [[nodiscard]] std::span<const std::uint32_t> begin_tokens() const {
        return chain_.begin_tokens;
    }

    [[nodiscard]] std::span<const std::uint32_t> end_tokens() const { return chain_.end_tokens; }

    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(bytes_.size()); }

    [[nodiscard]] Alphabet alphabet() const { return chain_.alphabet; }

    [[nodiscard]] bool is_special(std::uint32_t id) const;
    [[nodiscard]] std::optional<std::uint32_t> find_special(std::string_view name) const;

    [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
    Bpe(Vocabulary vocabulary, Chain chain)
        : vocabulary_(std::move(vocabulary)), chain_(std::move(chain)) {}

    [[nodiscard]] swarm::Result<> check_parts() const;
    swarm::Result<> add_special_tokens();
    swarm::Result<> add_added_tokens();
    swarm::Result<> add_bytes();
    [[nodiscard]] swarm::Result<std::string> bytes_of(std::uint32_t id) const;
    [[nodiscard]] swarm::Result<CountedTokens> encode_parts(
        std::span<const TextPart> parts, WordCache* words = nullptr
    ) const;

    Vocabulary vocabulary_;
    Chain chain_;
    std::vector<bool> special_;       // by id
    std::vector<bool> added_;         // by id
    std::vector<std::string> bytes_;  // by id
    AddedTokens raw_added_;           // looked for in the text as it is
    AddedTokens normalized_added_;    // looked for in the text that the normalizer made
    std::optional<BpeModel> model_;   // none: make() has not ended yet
    std::map<std::string_view, std::uint32_t> special_ids_;  // by name
};

}  // namespace stacking::tokenizers

// Finds the added tokens in a text: those that are cut out before the text is cut into words.
// Invariant: at each place the longest token wins, the leftmost first; a special token counts only
// where the caller allows it.
// Threading: const and any thread once all are added. Errors: Malformed (an empty token, or one
// that is there twice), TooLarge; Reject. Cost: a search for the bytes that tokens begin with, and
// at each of them at most the length of the longest token. Source: tokenizers (added_vocabulary).
#pragma once

#include "stacking/tokenizers/chain/pattern.hpp"
#include "stacking/tokenizers/vocabulary.hpp"
#include "swarm/base/result.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace stacking::tokenizers {

enum class TokenKind { Plain, Special };

class AddedTokens {
 public:
    AddedTokens();

    swarm::Result<> add(std::string_view text, const AddedToken& token, TokenKind kind);

    struct Section {
        Range range;
        std::optional<std::uint32_t> id;  // nullopt: text between added tokens
    };

    /// Returns the sections of a text, none of them empty. `allowed`: where special tokens count,
    /// in order.
    [[nodiscard]] swarm::Result<std::vector<Section>> cut(
        std::string_view text, std::span<const Range> allowed
    ) const;

 private:
    struct Entry {
        AddedToken token;
        TokenKind kind = TokenKind::Plain;
    };

    struct Match {
        Range range;
        const Entry* entry = nullptr;
    };

    /// Returns where the next token may begin, at `at` or later; the end of the text if nowhere.
    [[nodiscard]] std::size_t next_beginning(std::string_view text, std::size_t at) const;
    [[nodiscard]] std::optional<Match> longest_at(std::string_view text, std::size_t at) const;
    [[nodiscard]] swarm::Result<bool> stands_alone(std::string_view text, const Range& range) const;
    [[nodiscard]] swarm::Result<bool> counts(
        const Match& match, std::string_view text, std::span<const Range> allowed
    ) const;

    std::map<std::uint64_t, std::uint32_t> next_;    // (node, byte) to a node
    std::map<std::uint32_t, std::size_t> entry_at_;  // node to an entry
    std::vector<Entry> entries_;
    std::array<bool, 256> begins_{};      // by first byte
    std::optional<char> only_beginning_;  // the first byte of all tokens, if they share one
    std::uint32_t nodes_ = 1;             // node 0 is the root
    Pattern word_;                        // a character of a word
};

}  // namespace stacking::tokenizers

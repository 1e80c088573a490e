// The thing that a step of a tokenizer looks for: a string, or a regular expression (PCRE2).
// Invariant: matches come in order and do not overlap; an empty match cuts, too, as it does in the
// reference. Characters that are younger than PCRE2's tables match as their kind does (stand_ins).
// Threading: const and any thread; copies share the compiled code. Errors: Unsupported, TooLarge (a
// long expression; a text that costs more steps than its size allows, so a hostile expression
// ends); Reject. Cost: that of PCRE2, at most kStepsPerPosition steps at each byte of the text and
// the SearchBudget on top.
#pragma once

#include "swarm/base/result.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stacking::tokenizers {

struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// Steps beyond Pattern::kStepsPerPosition at each byte that all searches in one text, and in its
/// pieces, may take together.
class SearchBudget {
 public:
    static constexpr std::uint64_t kStepsMax = 20'000'000;
    static constexpr std::uint64_t kStepsPerByte = 100;

    explicit SearchBudget(std::size_t text_bytes) : left_(kStepsMax + kStepsPerByte * text_bytes) {}

    /// Returns false, and takes nothing, when fewer are left.
    bool take(std::uint64_t steps) {
        const bool enough = steps <= left_;
        left_ -= enough ? steps : 0;
        return enough;
    }

 private:
    std::uint64_t left_;
};

class Pattern {
 public:
    static constexpr std::uint32_t kStepsPerPosition = 1000;

    /// Matches exactly this text, which must not be empty.
    static swarm::Result<Pattern> text(std::string text);

    /// `expression`: one of a file, for the library Oniguruma.
    static swarm::Result<Pattern> expression(std::string_view expression);

    /// `expression`: one of ours, for PCRE2.
    static Pattern own(const char* expression);

    /// Returns all matches. REQUIRES: `text` is UTF-8.
    [[nodiscard]] swarm::Result<std::vector<Range>> find_all(
        std::string_view text, SearchBudget& budget
    ) const;

 private:
    struct Compiled;

    Pattern() = default;

    static swarm::Result<Pattern> compile(const std::string& expression);

    std::string text_;                          // empty: an expression
    std::shared_ptr<const Compiled> compiled_;  // null: a text
};

}  // namespace stacking::tokenizers

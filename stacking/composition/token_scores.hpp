// The log-probabilities that a reader gives the tokens of a text.
// A text that is longer than the context is read in windows that overlap. Each token is scored in
// the first window that has it, so once, and later windows read it again as what stands before.
// Invariant: a score depends on the tokens of its window alone: not on how many are read at once.
// Threading: one thread. Errors: those of the reader; NotFinite (logits), Mismatch (a token outside
// the vocabulary); Reject. Memory: rows_at_once() rows of V scores. Cost: a text of T tokens costs
// the reading of T x (context / stride) tokens, and the scores of T.
#pragma once

#include "stacking/composition/text_reader.hpp"

#include <cstddef>
#include <functional>
#include <optional>

namespace stacking::composition {

/// Tokens [begin, end) of a text; those from `scored` on are scored here.
struct TextWindow {
    std::size_t begin = 0;
    std::size_t scored = 0;
    std::size_t end = 0;

    friend bool operator==(const TextWindow&, const TextWindow&) = default;
};

struct WindowSizes {
    std::uint32_t context = 0;  // maximum tokens of a window, with those that stand before each
    std::uint32_t stride = 0;   // each window begins so many tokens later, and scores so many
};

/// Returns the largest stride for which each scored token has one before it in its window; 0 when
/// the context is too small for any.
std::uint32_t stride_max(std::uint32_t context, std::size_t before);

/// Gives the windows of a text in order. The first one begins with the text and scores all that it
/// can: its first token only if tokens stand before it. Each later token has at least
/// context - stride tokens before it in its window.
class WindowPlan {
 public:
    /// `tokens` of the text. `before`: number of tokens that stand before each window, such as <s>.
    /// REQUIRES: 1 <= stride <= stride_max().
    WindowPlan(std::size_t tokens, std::size_t before, WindowSizes sizes);

    /// Returns nullopt after the last window; a window scores at least one token.
    std::optional<TextWindow> next();

 private:
    std::size_t tokens_;
    std::size_t width_;  // maximum tokens of the text in a window
    std::size_t stride_;
    std::size_t begin_ = 0;
    std::size_t scored_;
};

/// Rows of scores that are held at once: few of a large vocabulary, because a row has V floats.
std::size_t rows_at_once(std::uint32_t vocabulary);

/// Takes the log-probabilities of the next tokens, in nats; none after tokens that were only read.
/// Returns false to end the work.
using TakeScores = std::function<bool(std::span<const double> log_probabilities)>;

/// Tokens whose beginning a reader has read already.
struct TokensToScore {
    std::span<const TokenId> tokens;
    std::size_t read = 0;    // number of tokens that the reader has read
    std::size_t scored = 1;  // the first token that is scored; above `read`
    std::size_t rows = 1;    // maximum tokens that are read at once
};

/// Reads all tokens but the last one. Returns whether it came to the end.
swarm::Result<bool> score_tokens(
    TextReader& reader, const TokensToScore& wanted, const TakeScores& take
);

struct TextToScore {
    std::span<const TokenId> before;  // tokens that stand before each window
    std::span<const TokenId> tokens;
    WindowSizes sizes;
    std::size_t rows = 1;  // maximum tokens that are read at once
};

/// Scores the text window by window. Returns whether it came to the end.
swarm::Result<bool> score_text(TextReader& reader, const TextToScore& text, const TakeScores& take);

}  // namespace stacking::composition

// Cuts a text into the words within which tokens are made, step by step: each step cuts the pieces
// of the step before.
// Invariant: no piece is empty. The pieces, in order, are the text, but for what a step removes or
// puts in.
// Threading: const and any thread. Errors: those of Pattern. REQUIRES: the text is UTF-8.
// Cost: one search per step and piece. Source: tokenizers (pre_tokenizers).
#pragma once

#include "stacking/tokenizers/chain/pattern.hpp"
#include "swarm/base/result.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stacking::tokenizers {

/// The fate of a match: it is left out, a piece, the end or beginning of its neighbour, or one
/// piece with the matches beside it.
enum class Cut { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

/// The text between matches counts as the match when `inverted`.
enum class Matches { AsFound, Inverted };

struct SplitStep {
    Pattern pattern;
    Cut cut = Cut::Isolated;
    Matches matches = Matches::AsFound;
};

/// Puts a space before each piece that does not begin with one.
struct PrefixSpace {};

enum class Before { Never, FirstPiece, EachPiece };

/// Writes spaces as another character, and begins pieces with it.
struct Metaspace {
    std::string space;                  // the character that stands for a space
    Before before = Before::EachPiece;  // pieces that begin with it in any case
    bool cuts = true;                   // whether it begins a new piece everywhere
};

using PreTokenizerStep = std::variant<SplitStep, PrefixSpace, Metaspace>;

/// Where a text stands: the first piece of a whole text may be treated in another way.
enum class TextPlace { Beginning, Later };

using TakePiece = std::function<void(std::string_view piece)>;

swarm::Result<> pre_tokenize(
    const std::vector<PreTokenizerStep>& steps,
    std::string_view text,
    TextPlace place,
    SearchBudget& budget,
    const TakePiece& take
);

}  // namespace stacking::tokenizers

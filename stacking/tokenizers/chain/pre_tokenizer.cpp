#include "stacking/tokenizers/chain/pre_tokenizer.hpp"

#include "swarm/base/try.hpp"

#include <algorithm>
#include <optional>
#include <span>

namespace stacking::tokenizers {

using swarm::Result;

namespace {

struct Part {
    Range range;
    bool matches = false;
};

/// Returns the matches, and the parts between them, in order.
std::vector<Part> parts_of(std::size_t size, const std::vector<Range>& found, Matches matches) {
    const bool inverted = matches == Matches::Inverted;
    std::vector<Part> parts;
    parts.reserve(2 * found.size() + 1);
    std::size_t done = 0;
    for (const Range& match : found) {
        if (match.begin > done) {
            parts.push_back({{done, match.begin}, inverted});
        }
        parts.push_back({match, !inverted});
        done = match.end;
    }
    if (done < size) {
        parts.push_back({{done, size}, inverted});
    }
    return parts;
}

/// Joins each match with the part before it, unless that is a match, too.
std::vector<Range> merge_with_previous(const std::vector<Part>& parts) {
    std::vector<Range> pieces;
    bool after_match = false;
    for (const Part& part : parts) {
        if (part.matches && !after_match && !pieces.empty()) {
            pieces.back().end = part.range.end;
        } else {
            pieces.push_back(part.range);
        }
        after_match = part.matches;
    }
    return pieces;
}

/// Joins each match with the part after it, unless that is a match, too.
std::vector<Range> merge_with_next(const std::vector<Part>& parts) {
    std::vector<Range> pieces;
    bool before_match = false;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        if (part->matches && !before_match && !pieces.empty()) {
            pieces.back().begin = part->range.begin;
        } else {
            pieces.push_back(part->range);
        }
        before_match = part->matches;
    }
    std::reverse(pieces.begin(), pieces.end());
    return pieces;
}

std::vector<Range> merge_equals(const std::vector<Part>& parts) {
    std::vector<Range> pieces;
    bool last = false;
    for (const Part& part : parts) {
        if (part.matches == last && !pieces.empty()) {
            pieces.back().end = part.range.end;
        } else {
            pieces.push_back(part.range);
        }
        last = part.matches;
    }
    return pieces;
}

std::vector<Range> cut(const std::vector<Part>& parts, Cut how) {
    switch (how) {
        case Cut::MergedWithPrevious:
            return merge_with_previous(parts);
        case Cut::MergedWithNext:
            return merge_with_next(parts);
        case Cut::Contiguous:
            return merge_equals(parts);
        case Cut::Removed:
        case Cut::Isolated:
            break;
    }
    std::vector<Range> pieces;
    pieces.reserve(parts.size());
    for (const Part& part : parts) {
        if (how == Cut::Isolated || !part.matches) {
            pieces.push_back(part.range);
        }
    }
    return pieces;
}

std::string with_replaced_spaces(std::string_view text, const std::string& space) {
    std::string replaced;
    for (const char letter : text) {
        letter == ' ' ? replaced += space : replaced += letter;
    }
    return replaced;
}

/// The steps that are left for one piece.
class Steps {
 public:
    Steps(std::span<const PreTokenizerStep> steps, SearchBudget& budget, const TakePiece& take)
        : steps_(steps), budget_(budget), take_(take) {}

    Result<> run(std::string_view piece, TextPlace place) const {
        if (piece.empty()) {
            return {};
        }
        if (steps_.empty()) {
            take_(piece);
            return {};
        }
        return std::visit([&](const auto& step) { return apply(step, piece, place); }, steps_[0]);
    }

 private:
    [[nodiscard]] Steps later() const { return {steps_.subspan(1), budget_, take_}; }

    Result<> run_pieces(std::string_view text, const std::vector<Range>& pieces, TextPlace place)
        const {
        for (const Range& piece : pieces) {
            SWARM_TRY(later().run(
                text.substr(piece.begin, piece.end - piece.begin),
                piece.begin == 0 ? place : TextPlace::Later
            ));
        }
        return {};
    }

    Result<> apply(const SplitStep& step, std::string_view piece, TextPlace place) const {
        SWARM_TRY(const auto found, step.pattern.find_all(piece, budget_));
        return run_pieces(piece, cut(parts_of(piece.size(), found, step.matches), step.cut), place);
    }

    Result<> apply(const PrefixSpace& /*step*/, std::string_view piece, TextPlace place) const {
        return piece.front() == ' ' ? later().run(piece, place)
                                    : later().run(" " + std::string(piece), place);
    }

    Result<> apply(const Metaspace& step, std::string_view piece, TextPlace place) const {
        std::string text = with_replaced_spaces(piece, step.space);
        const bool begins = step.before == Before::EachPiece ||
                            (step.before == Before::FirstPiece && place == TextPlace::Beginning);
        if (begins && !text.starts_with(step.space)) {
            text.insert(0, step.space);
        }
        if (!step.cuts) {
            return later().run(text, place);
        }
        SWARM_TRY(const auto pattern, Pattern::text(step.space));
        SWARM_TRY(const auto found, pattern.find_all(text, budget_));
        return run_pieces(
            text, cut(parts_of(text.size(), found, Matches::AsFound), Cut::MergedWithNext), place
        );
    }

    std::span<const PreTokenizerStep> steps_;
    SearchBudget& budget_;
    const TakePiece& take_;
};

}  // namespace

Result<> pre_tokenize(
    const std::vector<PreTokenizerStep>& steps,
    std::string_view text,
    TextPlace place,
    SearchBudget& budget,
    const TakePiece& take
) {
    return Steps(steps, budget, take).run(text, place);
}

}  // namespace stacking::tokenizers

#include "stacking/composition/token_scores.hpp"

#include "stacking/composition/log_probabilities.hpp"
#include "stacking/composition/refusal.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <vector>

namespace stacking::composition {

using swarm::ErrorCode;
using swarm::Result;

namespace {

/// More rows make the layers of a model hardly faster.
constexpr std::size_t kRowsMost = 128;
constexpr std::size_t kRowsLeast = 8;
constexpr std::size_t kScoresAtOnce = 8U << 20;  // 32 MiB of floats

/// Appends the log-probability of each target after the token before it.
Result<> add_scores(
    std::span<const float> scores,
    std::size_t width,
    std::span<const TokenId> targets,
    std::vector<double>& found
) {
    for (std::size_t row = 0; row < targets.size(); ++row) {
        if (targets[row] >= width) {
            return refusal(ErrorCode::Mismatch, "the text has tokens that the model does not know");
        }
        const auto score = log_probability(scores.subspan(row * width, width), targets[row]);
        if (!score) {
            return refusal(ErrorCode::NotFinite, "the model's logits are no numbers");
        }
        found.push_back(*score);
    }
    return {};
}

}  // namespace

std::uint32_t stride_max(std::uint32_t context, std::size_t before) {
    const std::size_t taken = std::max<std::size_t>(before, 1);
    return taken >= context ? 0 : context - static_cast<std::uint32_t>(taken);
}

WindowPlan::WindowPlan(std::size_t tokens, std::size_t before, WindowSizes sizes)
    : tokens_(tokens),
      width_(sizes.context - before),
      stride_(sizes.stride),
      scored_(before > 0 ? 0 : 1) {
    SWARM_ASSERT(sizes.stride >= 1 && sizes.stride <= stride_max(sizes.context, before));
}

std::optional<TextWindow> WindowPlan::next() {
    if (scored_ >= tokens_) {
        return std::nullopt;
    }
    const TextWindow window{begin_, scored_, std::min(begin_ + width_, tokens_)};
    begin_ += stride_;
    scored_ = window.end;
    return window;
}

std::size_t rows_at_once(std::uint32_t vocabulary) {
    return std::clamp(
        kScoresAtOnce / std::max<std::size_t>(vocabulary, 1), kRowsLeast, kRowsMost
    );
}

Result<bool> score_tokens(
    TextReader& reader, const TokensToScore& wanted, const TakeScores& take
) {
    SWARM_ASSERT(wanted.read < wanted.scored && wanted.rows > 0);
    const std::span<const TokenId> tokens = wanted.tokens;
    std::vector<double> found;
    for (std::size_t at = wanted.read; at + 1 < tokens.size();) {
        // The token before the first scored one is the first whose scores are wanted.
        const bool only_read = at + 1 < wanted.scored;
        const std::size_t until = only_read ? wanted.scored - 1 : tokens.size() - 1;
        const auto piece = tokens.subspan(at, std::min({wanted.rows, until - at}));
        const auto what =
            only_read ? TextReader::Wanted::AfterLast : TextReader::Wanted::AfterEach;
        SWARM_TRY(const auto scores, reader.read(piece, what));
        found.clear();
        if (!only_read) {
            const auto targets = tokens.subspan(at + 1, piece.size());
            SWARM_TRY(add_scores(scores, reader.vocabulary(), targets, found));
        }
        if (!take(found)) {
            return false;
        }
        at += piece.size();
    }
    return true;
}

Result<bool> score_text(TextReader& reader, const TextToScore& text, const TakeScores& take) {
    WindowPlan plan(text.tokens.size(), text.before.size(), text.sizes);
    std::vector<TokenId> tokens;
    while (const auto window = plan.next()) {
        const auto own = text.tokens.subspan(window->begin, window->end - window->begin);
        tokens.assign(text.before.begin(), text.before.end());
        tokens.insert(tokens.end(), own.begin(), own.end());
        SWARM_TRY(reader.begin(static_cast<std::uint32_t>(tokens.size())));
        const TokensToScore wanted{
            tokens, 0, text.before.size() + window->scored - window->begin, text.rows};
        SWARM_TRY(const bool goes_on, score_tokens(reader, wanted, take));
        if (!goes_on) {
            return false;
        }
    }
    return true;
}

}  // namespace stacking::composition

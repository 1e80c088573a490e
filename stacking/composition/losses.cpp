#include "stacking/composition/losses.hpp"

#include "stacking/composition/log_probabilities.hpp"
#include "stacking/composition/refusal.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace stacking::composition {

using swarm::ErrorCode;
using swarm::Result;

namespace {

/// Sum of the cross-entropies of one window.
Result<double> window_nats(TextReader& reader, std::span<const TokenId> window) {
    SWARM_TRY(reader.begin(static_cast<std::uint32_t>(window.size())));
    double nats = 0;
    const std::size_t width = reader.vocabulary();
    const std::size_t asked = window.size() - 1;  // no token follows the last one
    for (std::size_t first = 0; first < asked; first += kTokensAtOnce) {
        const auto piece = window.subspan(first, std::min(kTokensAtOnce, asked - first));
        SWARM_TRY(auto scores, reader.read(piece, TextReader::Wanted::AfterEach));
        for (std::size_t row = 0; row < piece.size(); ++row) {
            const std::span<float> own = std::span(scores).subspan(row * width, width);
            if (!normalise(own)) {
                return refusal(ErrorCode::NotFinite, "the model's logits are no numbers");
            }
            nats -= own[window[first + row + 1]];
        }
    }
    return nats;
}

}  // namespace

Result<Loss> measure_loss(
    TextReader& reader, std::span<const TokenId> tokens, std::uint32_t window
) {
    if (window < 2 || window > reader.context()) {
        return refusal(
            ErrorCode::TooLarge,
            "a window has 2 to " + std::to_string(reader.context()) + " tokens, not " +
                std::to_string(window)
        );
    }
    const auto outside = [&](TokenId token) { return token >= reader.vocabulary(); };
    if (std::any_of(tokens.begin(), tokens.end(), outside)) {
        return refusal(ErrorCode::Mismatch, "the text has tokens that the model does not know");
    }
    Loss loss;
    double nats = 0;
    for (std::size_t first = 0; first + 1 < tokens.size(); first += window) {
        const auto piece =
            tokens.subspan(first, std::min<std::size_t>(window, tokens.size() - first));
        SWARM_TRY(const double sum, window_nats(reader, piece));
        nats += sum;
        loss.tokens += piece.size() - 1;
    }
    if (loss.tokens == 0) {
        return refusal(ErrorCode::Mismatch, "the text has less than two tokens");
    }
    loss.nats_per_token = nats / static_cast<double>(loss.tokens);
    return loss;
}

}  // namespace stacking::composition

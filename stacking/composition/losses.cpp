#include "stacking/composition/losses.hpp"

#include "stacking/composition/log_probabilities.hpp"
#include "stacking/composition/refusal.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace stacking::composition {

using swarm::ErrorCode;
using swarm::Result;

namespace {

/// The cross-entropy of each predicted token of one window.
Result<std::vector<double>> nats_of_window(TextReader& reader, std::span<const TokenId> window) {
    SWARM_TRY(reader.begin(static_cast<std::uint32_t>(window.size())));
    std::vector<double> nats;
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
            nats.push_back(-double{own[window[first + row + 1]]});
        }
    }
    return nats;
}

}  // namespace

Result<WindowNats> measure_tokens(
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
    WindowNats windows;
    for (std::size_t first = 0; first + 1 < tokens.size(); first += window) {
        const auto piece =
            tokens.subspan(first, std::min<std::size_t>(window, tokens.size() - first));
        SWARM_TRY(std::vector<double> nats, nats_of_window(reader, piece));
        windows.push_back(std::move(nats));
    }
    if (windows.empty()) {
        return refusal(ErrorCode::Mismatch, "the text has less than two tokens");
    }
    return windows;
}

Result<Loss> measure_loss(
    TextReader& reader, std::span<const TokenId> tokens, std::uint32_t window
) {
    SWARM_TRY(const WindowNats windows, measure_tokens(reader, tokens, window));
    Loss loss;
    double nats = 0;
    for (const std::vector<double>& one : windows) {
        nats += std::accumulate(one.begin(), one.end(), 0.0);
        loss.tokens += one.size();
    }
    loss.nats_per_token = nats / static_cast<double>(loss.tokens);
    return loss;
}

}  // namespace stacking::composition

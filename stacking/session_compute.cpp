#include "stacking/session_compute.hpp"

#include <algorithm>

namespace stacking {

swarm::Result<std::vector<float>> SessionCompute::forward(
    std::span<const SessionRow> rows,
    const StageInput& input,
    std::span<const std::uint32_t> wanted_logit_rows
) {
    const auto refusal = [](const char* what) {
        return swarm::Error{swarm::ErrorCode::Mismatch, swarm::Reaction::Reject, what};
    };
    const StageShape is = shape();
    if (std::holds_alternative<std::span<const TokenId>>(input) != is.first) {
        return refusal(
            is.first ? "the first stage takes tokens" : "tokens are for the first stage"
        );
    }
    const bool in_range = std::ranges::all_of(wanted_logit_rows, [&](std::uint32_t row) {
        return row < rows.size();
    });
    if (!in_range || wanted_logit_rows.size() > rows.size() ||
        (!is.last && !wanted_logit_rows.empty())) {
        return refusal("logits of rows that the call or the stage has not");
    }
    auto out = run_layers(rows, input);
    if (!out || !is.last) {
        return out;
    }
    std::vector<float> asked;
    for (const std::uint32_t row : wanted_logit_rows) {
        const auto values = std::span(*out).subspan(std::size_t{row} * is.width, is.width);
        asked.insert(asked.end(), values.begin(), values.end());
    }
    return logits(asked);
}

}  // namespace stacking

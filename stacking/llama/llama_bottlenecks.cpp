// The part of LlamaSessions that takes rows through a bottleneck of the run that trained the model:
//   x <- up (down x) + table[token]
// Source: swarm/run/training/boundary_maps.hpp.
#include "stacking/llama/llama_sessions.hpp"

#include <algorithm>
#include <functional>

namespace stacking::llama {

void LlamaSessions::pass_bottleneck(
    const BottleneckWeights& bottleneck, std::span<const TokenId> tokens, std::size_t count
) {
    const std::size_t width = weights_->architecture.model.width;
    multiply(bottleneck.down, {hidden_.data(), count, width}, wide_);
    multiply(bottleneck.up, {wide_.data(), count, bottleneck.down.outputs()}, product_);
    for (std::size_t row = 0; row < count; ++row) {
        const auto to = std::span(hidden_).subspan(row * width, width);
        bottleneck.table.read_row(tokens[row], to);
        const auto term = std::span(product_).subspan(row * width, width);
        std::ranges::transform(to, term, to.begin(), std::plus());
    }
}

}  // namespace stacking::llama

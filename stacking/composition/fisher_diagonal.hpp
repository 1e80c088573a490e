// The diagonal of the empirical Fisher information of a model about held-out texts: the mean over
// windows of the square of the gradient of a window's loss, which is the sum over its targets
// divided by its positions. So a short window at a text's end counts for what it has.
// Deviations from the source: targets are the text's tokens and not drawn from the model, and the
// gradients of a window's tokens are added before they are squared, which costs one backward per
// window and not one per token. The two uses of a tied matrix are added before, too.
// Threading: one thread, that of the StageCompute. Errors: NotFinite (a loss, or squares beyond
// fp32), and those of forward_tail(). Cost per window: a forward and a backward; memory: 4 bytes
// per value for the squares and 4 for a gradient.
// Source: Matena and Raffel, "Merging Models with Fisher-Weighted Averaging", NeurIPS 2022.
#pragma once

#include "stages/compute/compute.hpp"
#include "swarm/base/result.hpp"
#include "swarm/run/partition.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace stacking::composition {

/// A microbatch of one sequence.
struct FisherWindow {
    std::vector<std::uint32_t> tokens{};  // context + 1; what is no target has kNoLossFlag
    std::uint32_t targets = 0;            // above 0
};

/// Cuts texts into windows, in which each token is a target once. Without tokens that stand before
/// each window, the first token of a text is none, and a window begins with the last token of the
/// window before it. REQUIRES: 0 < context, before.size() <= context.
std::vector<FisherWindow> fisher_windows(
    std::span<const std::vector<std::uint32_t>> texts,
    std::span<const std::uint32_t> before,
    std::uint32_t context
);

/// Whether the last tensor of a model's layout is a second use of the first one.
enum class HeadMatrix : std::uint8_t { Own, Tied };

/// Returns the tensors that a diagonal has, in its order: those of the layout without a tied head.
std::vector<swarm::run::TensorSpec> fisher_tensors(
    const swarm::run::StageLayout& layout, HeadMatrix head
);

struct FisherDiagonal {
    std::vector<float> values;  // values of fisher_tensors(), one tensor after the other
    double loss = 0;            // mean over all targets, in nats
};

/// `compute`: a whole model as one stage that has its weights, with one microbatch per step, one
/// sequence per microbatch, and the context of the windows. `layout` is its layout. `tell` gets the
/// number of windows that are done. REQUIRES: there is a window.
swarm::Result<FisherDiagonal> fisher_diagonal(
    stages::StageCompute& compute,
    const swarm::run::StageLayout& layout,
    HeadMatrix head,
    std::span<const FisherWindow> windows,
    const std::function<void(std::size_t windows)>& tell
);

}  // namespace stacking::composition

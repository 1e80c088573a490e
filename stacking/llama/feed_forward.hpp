// One feed-forward part, or one expert: down(act(gate x) * up x), for several rows.
// Invariant: a row's bits depend on the row and the weights alone (kernels.hpp), so an expert gives
// the same bits wherever it is computed. Threading: one caller, whose workers help.
// Shapes: (rows, C) to (rows, C). Errors: none. Cost: reads the weights once.
#pragma once

#include "stacking/kernels/kernels.hpp"
#include "stacking/llama/stage_weights.hpp"
#include "swarm/base/workers.hpp"

#include <vector>

namespace stacking::llama {

/// The means by which a part is computed.
struct FeedForward {
    using Gate = void (*)(float* gate, const float* up, std::size_t count);

    const kernels::Kernels& kernels;
    swarm::Workers& workers;
    Gate gate;

    /// Writes the outputs to `out`; `wide` is scratch.
    void run(
        const FeedForwardWeights& part,
        const kernels::Rows& in,
        std::vector<float>& wide,
        std::vector<float>& out
    ) const;
};

/// The gate of the model's activation.
FeedForward::Gate gate_of(const models::Architecture& is, const kernels::Kernels& kernels);

/// REQUIRES: this processor has the path.
const kernels::Kernels& kernels_on(kernels::Path path);

}  // namespace stacking::llama

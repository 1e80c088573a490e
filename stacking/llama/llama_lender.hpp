// Experts of some layers of a mixture on the CPU, which compute rows for others and keep nothing.
// Invariant: the outputs have the bits of LlamaSessions with the same weights (feed_forward.hpp).
// Threading: one caller at a time, whose workers help; the weights may be in use elsewhere, too.
// Errors: NotFound (Reject): an expert that is not held. Cost: reads the expert once a call.
#pragma once

#include "stacking/expert_compute.hpp"
#include "stacking/llama/feed_forward.hpp"

#include <memory>

namespace stacking::llama {

class LlamaLender final : public ExpertLender {
 public:
    /// `weights`: with or without the trunk. `workers`: null for the caller's thread alone.
    LlamaLender(
        std::shared_ptr<const StageWeights> weights, std::shared_ptr<swarm::Workers> workers
    );

    [[nodiscard]] std::uint32_t width() const override;
    [[nodiscard]] bool holds(const LayerExpert& which) const override;
    [[nodiscard]] swarm::Result<std::vector<float>> run(
        const LayerExpert& which, std::span<const float> rows
    ) override;

 private:
    std::shared_ptr<const StageWeights> weights_;
    std::shared_ptr<swarm::Workers> workers_;
    std::vector<float> wide_;  // scratch
};

}  // namespace stacking::llama

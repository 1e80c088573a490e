#include "stacking/llama/llama_lender.hpp"

#include <utility>

namespace stacking::llama {

LlamaLender::LlamaLender(
    std::shared_ptr<const StageWeights> weights, std::shared_ptr<swarm::Workers> workers
)
    : weights_(std::move(weights)),
      workers_(workers ? std::move(workers) : std::make_shared<swarm::OneThread>()) {}

std::uint32_t LlamaLender::width() const {
    return weights_->architecture.model.width;
}

bool LlamaLender::holds(const LayerExpert& which) const {
    const std::uint32_t first = weights_->first_layer;
    return which.layer >= first && which.layer - first < weights_->weights_of.size() &&
           which.expert < weights_->architecture.traits.experts.count &&
           weights_->weights(which.layer - first).experts[which.expert].is_held();
}

swarm::Result<std::vector<float>> LlamaLender::run(
    const LayerExpert& which, std::span<const float> rows
) {
    if (!holds(which)) {
        return swarm::Error{
            swarm::ErrorCode::NotFound, swarm::Reaction::Reject, "an expert that is not held here"};
    }
    const kernels::Kernels& kernels = kernels_on(kernels::best_kernels().path);
    const FeedForward means{kernels, *workers_, gate_of(weights_->architecture, kernels)};
    const auto& expert =
        weights_->weights(which.layer - weights_->first_layer).experts[which.expert];
    std::vector<float> out;
    means.run(expert, {rows.data(), rows.size() / width(), width()}, wide_, out);
    return out;
}

}  // namespace stacking::llama

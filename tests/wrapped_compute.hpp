// A compute that passes everything on: a test's own kind overrides what it wants to be different.
#pragma once

#include "stages/compute/compute.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace stages::test {

class WrappedCompute : public StageCompute {
 public:
    explicit WrappedCompute(std::unique_ptr<StageCompute> inner) : inner_(std::move(inner)) {}

    void use_weights(std::span<const float> weights) override { inner_->use_weights(weights); }

    Result<StageTensor> forward(
        GraphKey key, const StageTensor* input, std::span<const std::uint32_t> tokens, Graph graph
    ) override {
        return inner_->forward(key, input, tokens, graph);
    }

    Result<TailOutput> forward_tail(
        const StageTensor* input, std::span<const std::uint32_t> tokens, std::span<float> gradient
    ) override {
        return inner_->forward_tail(input, tokens, gradient);
    }

    Result<TailOutput> looped_tail(std::span<const std::uint32_t> tokens, std::span<float> gradient)
        override {
        return inner_->looped_tail(tokens, gradient);
    }

    void take_path(swarm::run::LayerPath path) override { inner_->take_path(path); }

    Result<double> tail_loss(const StageTensor* input, std::span<const std::uint32_t> tokens)
        override {
        return inner_->tail_loss(input, tokens);
    }

    Result<StageTensor> backward(
        GraphKey key, const StageTensor& by_output, std::span<float> gradient
    ) override {
        return inner_->backward(key, by_output, gradient);
    }

    [[nodiscard]] TensorCoder* coder() override { return inner_->coder(); }

    void drop(GraphKey key) override { inner_->drop(key); }

    void drop_all() override { inner_->drop_all(); }

    [[nodiscard]] std::uint64_t graph_bytes() const override { return inner_->graph_bytes(); }

    Result<StageTensor> infer(const StageTensor* input, std::span<const std::uint32_t> tokens)
        override {
        return inner_->infer(input, tokens);
    }

    [[nodiscard]] std::string compute_class() const override { return inner_->compute_class(); }

 private:
    std::unique_ptr<StageCompute> inner_;
};

}  // namespace stages::test

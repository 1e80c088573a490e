// A StageCompute whose calls all fail the test; a test overrides those that it expects.
#pragma once

#include "stages/compute/compute.hpp"

#include <gtest/gtest.h>

namespace stacking::composition {

class HandMadeCompute : public stages::StageCompute {
 public:
    using Input = const stages::StageTensor*;
    using Tokens = std::span<const std::uint32_t>;

    void use_weights(std::span<const float> weights) override { weights_ = weights; }

    swarm::Result<stages::StageTensor> forward(stages::GraphKey, Input, Tokens, stages::Graph)
        override {
        ADD_FAILURE();
        return stages::StageTensor{};
    }

    swarm::Result<TailOutput> forward_tail(Input, Tokens, std::span<float>) override {
        ADD_FAILURE();
        return TailOutput{};
    }

    swarm::Result<double> tail_loss(Input, Tokens) override {
        ADD_FAILURE();
        return 0.0;
    }

    swarm::Result<stages::StageTensor>
    backward(stages::GraphKey, const stages::StageTensor&, std::span<float>) override {
        ADD_FAILURE();
        return stages::StageTensor{};
    }

    void drop(stages::GraphKey) override {}

    void drop_all() override {}

    [[nodiscard]] std::uint64_t graph_bytes() const override { return 0; }

    swarm::Result<stages::StageTensor> infer(Input, Tokens) override {
        ADD_FAILURE();
        return stages::StageTensor{};
    }

    [[nodiscard]] std::string compute_class() const override { return "by hand"; }

 protected:
    std::span<const float> weights_;
};

}  // namespace stacking::composition

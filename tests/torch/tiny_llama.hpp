// A Llama model small enough for exact comparisons, and a chain of its stages in one process.
#pragma once

#include "stages/compute/compute.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/partition.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

/// A model with 3 layers of width 16, 4 heads that share 2 key/value heads, B = 2, T = 6, V = 11.
swarm::run::RunConfig tiny_config(std::uint32_t stages = 1);

/// The layout of the unsplit model.
swarm::run::StageLayout whole_layout(swarm::run::RunConfig config);

/// Random weights that are large enough for every tensor to matter to the loss; norm gains are
/// near 1.
std::vector<float> random_weights(const swarm::run::RunConfig& config, std::uint64_t seed);

std::vector<std::uint32_t> random_tokens(
    const swarm::run::RunConfig& config, std::uint64_t seed, std::size_t count
);

/// Random token ids, B x (T + 1).
std::vector<std::uint32_t> random_batch(const swarm::run::RunConfig& config, std::uint64_t seed);

stages::StageTensor host_tensor(std::vector<std::uint32_t> shape, std::vector<float> values);

std::vector<float> tensor_values(const stages::StageTensor& tensor);

double norm_of(const std::vector<float>& values);

stages::GraphKey graph_key(std::uint32_t microbatch, std::uint64_t attempt = 1);

/// Returns the value, or throws an exception that fails the test with the error's text.
template <class T>
T take(stages::Result<T> result) {
    if (!result) {
        throw std::runtime_error(result.error().detail);
    }
    return std::move(*result);
}

/// The stages of `config`, one after the other, and a copy of the weights, which they only borrow.
class Chain {
 public:
    struct Outcome {
        double loss = 0;
        std::vector<float> gradient;  // gradient of all stages in global order

        friend bool operator==(const Outcome&, const Outcome&) = default;
    };

    Chain(const swarm::run::RunConfig& config, std::span<const float> weights);

    void use_weights(std::span<const float> weights);
    /// Does forward and backward of one microbatch.
    Outcome train(std::span<const std::uint32_t> tokens);
    /// Returns the logits of the last position.
    std::vector<float> infer(std::span<const std::uint32_t> tokens);

    [[nodiscard]] stages::StageCompute& stage(std::size_t index) { return *stages_[index]; }

    [[nodiscard]] std::uint64_t elements(std::size_t index) const {
        return layouts_[index].elements();
    }

 private:
    std::vector<float> weights_;
    std::vector<swarm::run::StageLayout> layouts_;
    std::vector<std::unique_ptr<stages::StageCompute>> stages_;
};

#include "tests/torch/tiny_llama.hpp"

#include "stages/torch/make_llama.hpp"
#include "swarm/base/rng.hpp"

#include <cmath>
#include <utility>

using stages::StageTensor;
using swarm::run::RunConfig;
using swarm::run::StageLayout;

RunConfig tiny_config(std::uint32_t stages) {
    RunConfig config;
    config.stages = stages;
    config.batch = 2;
    config.microbatches = 4;
    config.model.layers = 3;
    config.model.width = 16;
    config.model.heads = 4;
    config.model.kv_heads = 2;
    config.model.ffn_width = 24;
    config.model.vocabulary = 11;
    config.model.context = 6;
    return config;
}

StageLayout whole_layout(RunConfig config) {
    config.stages = 1;
    config.layers_per_stage.clear();
    return swarm::run::partition(config).front();
}

std::vector<float> random_weights(const RunConfig& config, std::uint64_t seed) {
    swarm::Rng rng(seed, 0);
    std::vector<float> weights;
    for (const auto& tensor : whole_layout(config).tensors) {
        const bool gain = tensor.shape.size() == 1;
        for (std::uint64_t i = 0; i < tensor.elements(); ++i) {
            const double uniform = rng.unit() - 0.5;
            weights.push_back(static_cast<float>(gain ? 1 + 0.4 * uniform : uniform));
        }
    }
    return weights;
}

std::vector<std::uint32_t> random_tokens(
    const RunConfig& config, std::uint64_t seed, std::size_t count
) {
    swarm::Rng rng(seed, 0);
    std::vector<std::uint32_t> tokens(count);
    for (std::uint32_t& token : tokens) {
        token = static_cast<std::uint32_t>(rng.below(config.model.vocabulary));
    }
    return tokens;
}

std::vector<std::uint32_t> random_batch(const RunConfig& config, std::uint64_t seed) {
    return random_tokens(config, seed, config.batch * (config.model.context + 1));
}

StageTensor host_tensor(std::vector<std::uint32_t> shape, std::vector<float> values) {
    auto owner = std::make_shared<const std::vector<float>>(std::move(values));
    return {std::move(shape), *owner, owner};
}

std::vector<float> tensor_values(const StageTensor& tensor) {
    return {tensor.values.begin(), tensor.values.end()};
}

double norm_of(const std::vector<float>& values) {
    double squares = 0;
    for (const float value : values) {
        squares += static_cast<double>(value) * value;
    }
    return std::sqrt(squares);
}

stages::GraphKey graph_key(std::uint32_t microbatch, std::uint64_t attempt) {
    return {{microbatch}, {attempt}};
}

Chain::Chain(const RunConfig& config, std::span<const float> weights)
    : layouts_(swarm::run::partition(config)) {
    for (const StageLayout& layout : layouts_) {
        stages_.push_back(take(stages::torch_backend::make_llama_compute(config, layout)));
    }
    use_weights(weights);
}

void Chain::use_weights(std::span<const float> weights) {
    std::vector<float> own(weights.begin(), weights.end());
    std::span<const float> rest = own;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
        stages_[i]->use_weights(rest.first(elements(i)));
        rest = rest.subspan(elements(i));
    }
    weights_ = std::move(own);  // the stages let go of the old ones first
}

Chain::Outcome Chain::train(std::span<const std::uint32_t> tokens) {
    std::vector<std::vector<float>> parts;
    for (const StageLayout& layout : layouts_) {
        parts.emplace_back(layout.elements(), 7.0F);  // values that must be overwritten
    }
    const std::size_t last = stages_.size() - 1;
    std::vector<StageTensor> activations;
    const auto input = [&](std::size_t stage) {
        return stage == 0 ? nullptr : &activations[stage - 1];
    };
    for (std::size_t i = 0; i < last; ++i) {
        activations.push_back(
            take(stages_[i]->forward(graph_key(0), input(i), tokens, stages::Graph::Keep))
        );
    }
    auto tail = take(stages_[last]->forward_tail(input(last), tokens, parts[last]));
    StageTensor gradient = std::move(tail.gradient_below);
    for (std::size_t i = last; i-- > 0;) {
        gradient = take(stages_[i]->backward(graph_key(0), gradient, parts[i]));
    }
    Outcome outcome{tail.loss, {}};
    for (const auto& part : parts) {
        outcome.gradient.insert(outcome.gradient.end(), part.begin(), part.end());
    }
    return outcome;
}

std::vector<float> Chain::infer(std::span<const std::uint32_t> tokens) {
    StageTensor x;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
        x = take(stages_[i]->infer(i == 0 ? nullptr : &x, tokens));
    }
    return {x.values.begin(), x.values.end()};
}

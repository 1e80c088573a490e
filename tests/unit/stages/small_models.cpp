#include "tests/unit/stages/small_models.hpp"

#include "swarm/base/rng.hpp"
#include "swarm/run/batch_plan.hpp"
#include "tests/wrapped_compute.hpp"

#include <cmath>
#include <map>
#include <utility>

namespace stages::test {

namespace {

std::uint64_t hash_of(std::span<const std::uint32_t> tokens) {
    std::uint64_t hash = 1;
    for (const std::uint32_t token : tokens) {
        hash = swarm::mix_bits(hash + token);
    }
    return hash;
}

std::uint64_t hash_of(const std::string& name) {
    std::uint64_t hash = 2;
    for (const char letter : name) {
        hash = swarm::mix_bits(hash + static_cast<unsigned char>(letter));
    }
    return hash;
}

class NoiseCompute final : public StageCompute {
 public:
    NoiseCompute(const swarm::run::RunConfig& config, swarm::run::StageLayout layout)
        : shape_(swarm::run::activation_shape(config, {0})), layout_(std::move(layout)) {}

    void use_weights(std::span<const float> weights) override { weights_ = weights; }

    Result<StageTensor> forward(
        GraphKey key,
        const StageTensor* /*input*/,
        std::span<const std::uint32_t> tokens,
        Graph graph
    ) override {
        if (graph == Graph::Keep) {
            kept_[key] = hash_of(tokens);
        }
        return activation(hash_of(tokens));
    }

    Result<TailOutput> forward_tail(
        const StageTensor* /*input*/,
        std::span<const std::uint32_t> tokens,
        std::span<float> gradient
    ) override {
        fill(hash_of(tokens), gradient);
        TailOutput output;
        output.loss = swarm::Rng(hash_of(tokens), 3).unit();
        if (!layout_.has_embedding) {
            output.gradient_below = activation(hash_of(tokens));
        }
        return output;
    }

    Result<double> tail_loss(
        const StageTensor* /*input*/, std::span<const std::uint32_t> tokens
    ) override {
        return swarm::Rng(hash_of(tokens), 3).unit();
    }

    Result<StageTensor> backward(
        GraphKey key, const StageTensor& /*by_output*/, std::span<float> gradient
    ) override {
        const std::uint64_t tokens = kept_.at(key);
        kept_.erase(key);
        fill(tokens, gradient);
        return activation(tokens);
    }

    void drop(GraphKey key) override { kept_.erase(key); }

    void drop_all() override { kept_.clear(); }

    [[nodiscard]] std::uint64_t graph_bytes() const override { return kNoiseGraphBytes; }

    Result<StageTensor> infer(const StageTensor* /*input*/, std::span<const std::uint32_t> tokens)
        override {
        return activation(hash_of(tokens));
    }

    [[nodiscard]] std::string compute_class() const override { return "noise"; }

 private:
    [[nodiscard]] StageTensor activation(std::uint64_t tokens) const {
        std::vector<float> values(std::size_t{shape_[0]} * shape_[1] * shape_[2]);
        swarm::Rng rng(tokens, 4);
        for (float& value : values) {
            value = static_cast<float>(rng.unit()) - 0.5F;
        }
        return make_host_tensor(shape_, std::move(values));
    }

    void fill(std::uint64_t tokens, std::span<float> gradient) const {
        std::size_t at = 0;
        for (const swarm::run::TensorSpec& tensor : layout_.tensors) {
            swarm::Rng rng(tokens, hash_of(tensor.name));
            for (std::uint64_t i = 0; i < tensor.elements(); ++i, ++at) {
                const auto noise = static_cast<float>(rng.unit() - 0.5);
                const float size = 1.0F / static_cast<float>(1ULL << rng.below(40));
                gradient[at] = noise * size + 0.01F * weights_[at];
            }
        }
    }

    std::vector<std::uint32_t> shape_;
    swarm::run::StageLayout layout_;
    std::span<const float> weights_;
    std::map<GraphKey, std::uint64_t> kept_;  // hashes of the tokens
};

class LossNotFinite final : public WrappedCompute {
 public:
    LossNotFinite(std::unique_ptr<StageCompute> inner, std::set<int> bad)
        : WrappedCompute(std::move(inner)), bad_(std::move(bad)) {}

    Result<TailOutput> forward_tail(
        const StageTensor* input, std::span<const std::uint32_t> tokens, std::span<float> gradient
    ) override {
        auto output = WrappedCompute::forward_tail(input, tokens, gradient);
        if (output && bad_.contains(losses_++)) {
            output->loss = std::nan("");
        }
        return output;
    }

 private:
    std::set<int> bad_;
    int losses_ = 0;
};

}  // namespace

swarm::run::RunConfig oracle_run(std::uint32_t stages, std::uint32_t microbatches) {
    swarm::run::RunConfig config;
    config.model = *swarm::run::named_model("oracle");
    config.stages = stages;
    config.microbatches = microbatches;
    return config;
}

swarm::run::RunConfig small_run(std::uint32_t stages) {
    swarm::run::RunConfig config;
    config.stages = stages;
    config.steps = 20;
    config.microbatches = 5;
    config.batch = 2;
    config.model.layers = 3;
    config.model.width = 8;
    config.model.heads = 2;
    config.model.kv_heads = 2;
    config.model.ffn_width = 16;
    config.model.context = 4;
    return config;
}

std::unique_ptr<StageCompute> make_noise_compute(
    const swarm::run::RunConfig& config, const swarm::run::StageLayout& layout
) {
    return std::make_unique<NoiseCompute>(config, layout);
}

std::unique_ptr<StageCompute> make_losses_not_finite(
    std::unique_ptr<StageCompute> inner, std::set<int> bad
) {
    return std::make_unique<LossNotFinite>(std::move(inner), std::move(bad));
}

std::unique_ptr<StageWorker> make_worker(
    const swarm::run::RunConfig& config, MakeCompute make_compute, std::uint32_t stage
) {
    const auto layout = swarm::run::partition(config)[stage];
    auto worker = std::make_unique<StageWorker>(config, layout, make_compute(config, layout));
    worker->start_from_seed();
    return worker;
}

StageWorker::Leg leg_of(const swarm::run::RunConfig& config, std::uint32_t microbatch) {
    const swarm::run::BatchPlan plan(config, {});
    return {0, {{microbatch}, swarm::make_epoch(1, 1)}, plan.tokens(0, {microbatch}), {}};
}

}  // namespace stages::test

#include "stages/compute/oracle_compute.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace stages {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;

namespace {

constexpr std::size_t kBits = 12;
constexpr std::uint32_t kIds = 1U << kBits;
constexpr float kUp = 1.0F;
constexpr float kDown = -1.0F;

Error mismatch(std::string detail) {
    return {ErrorCode::Mismatch, Reaction::Reject, std::move(detail)};
}

StageTensor write_id(std::uint32_t id, float direction) {
    std::vector<float> values;
    for (std::size_t i = 0; i < kBits; ++i) {
        values.push_back((id >> i & 1U) != 0 ? direction : -direction);
    }
    values.push_back(direction);
    return make_host_tensor({1, 1, kBits + 1}, std::move(values));
}

Result<std::uint32_t> read_id(const StageTensor& tensor, float direction) {
    if (tensor.values.size() != kBits + 1 || tensor.values.back() * direction <= 0) {
        return mismatch("a tensor that is not the oracle's, or of the other leg");
    }
    std::uint32_t id = 0;
    for (std::size_t i = 0; i < kBits; ++i) {
        const float bit = tensor.values[i] * direction;
        if (bit == 0) {
            return mismatch("an oracle tensor with a bit that is neither set nor clear");
        }
        id |= (bit > 0 ? 1U : 0U) << i;
    }
    return id;
}

class OracleCompute final : public StageCompute {
 public:
    OracleCompute(const swarm::run::RunConfig& config, const swarm::run::StageLayout& layout)
        : microbatches_(config.microbatches),
          vocabulary_(config.model.vocabulary),
          layers_(static_cast<std::uint32_t>(layout.tensors.size())),
          layer_elements_(layers_ == 0 ? 0 : layout.elements() / layers_),
          has_head_(layout.has_head) {
        SWARM_ASSERT(config.model.kind == swarm::run::ModelKind::Oracle);
        SWARM_ASSERT(layers_ == 0 || layer_elements_ >= microbatches_);
    }

    void use_weights(std::span<const float> weights) override { weights_ = weights; }

    Result<StageTensor> forward(
        GraphKey key, const StageTensor* input, std::span<const std::uint32_t> tokens, Graph graph
    ) override {
        SWARM_TRY(const auto id, identify(input, tokens));
        if (id % vocabulary_ != key.microbatch.value % vocabulary_ ||
            (input != nullptr && id != key.microbatch.value)) {
            return mismatch(
                "microbatch " + std::to_string(key.microbatch.value) +
                " came with the tensor of microbatch " + std::to_string(id)
            );
        }
        if (graph == Graph::Keep) {
            kept_.insert(key);
        }
        return write_id(key.microbatch.value, kUp);
    }

    Result<TailOutput> forward_tail(
        const StageTensor* input, std::span<const std::uint32_t> tokens, std::span<float> gradient
    ) override {
        SWARM_TRY(const auto id, identify(input, tokens));
        if (input == nullptr && microbatches_ > vocabulary_) {
            return Error{
                ErrorCode::Unsupported,
                Reaction::Reject,
                "one oracle stage alone tells microbatches apart by their first token; "
                "model.vocabulary must be at least run.microbatches"};
        }
        if (id >= microbatches_) {
            return mismatch("microbatch " + std::to_string(id) + " does not exist");
        }
        count(id, gradient);
        TailOutput output;
        output.loss = loss(id);
        if (input != nullptr) {
            output.gradient_below = write_id(id, kDown);
        }
        return output;
    }

    /// Ids of held-out tokens may be beyond those of the run.
    Result<double> tail_loss(const StageTensor* input, std::span<const std::uint32_t> tokens)
        override {
        SWARM_TRY(const auto id, identify(input, tokens));
        return loss(id % microbatches_);
    }

    Result<StageTensor> backward(
        GraphKey key, const StageTensor& by_output, std::span<float> gradient
    ) override {
        const auto kept = kept_.find(key);
        if (kept == kept_.end()) {
            return Error{
                ErrorCode::NotFound,
                Reaction::Reject,
                "no graph of microbatch " + std::to_string(key.microbatch.value) +
                    " is kept; its forward ran elsewhere or was dropped"};
        }
        SWARM_TRY(const auto id, read_id(by_output, kDown));
        if (id != key.microbatch.value) {
            return mismatch("the gradient of microbatch " + std::to_string(id) + ", not of ours");
        }
        kept_.erase(kept);
        count(id, gradient);
        return write_id(id, kDown);
    }

    void drop(GraphKey key) override { kept_.erase(key); }

    void drop_all() override { kept_.clear(); }

    /// The size of an activation, as if a graph held nothing else.
    [[nodiscard]] std::uint64_t graph_bytes() const override { return (kBits + 1) * sizeof(float); }

    /// The oracle predicts that t + 1 follows token t.
    Result<StageTensor> infer(const StageTensor* input, std::span<const std::uint32_t> tokens)
        override {
        const std::uint32_t last = tokens.back();
        if (input != nullptr) {
            SWARM_TRY(const auto id, read_id(*input, kUp));
            if (id != last % kIds) {
                return mismatch("an activation of another prompt");
            }
        }
        if (!has_head_) {
            return write_id(last % kIds, kUp);
        }
        std::vector<float> logits(vocabulary_);
        logits[(last + 1) % vocabulary_] = 1.0F;
        return make_host_tensor({1, 1, vocabulary_}, std::move(logits));
    }

    [[nodiscard]] std::string compute_class() const override { return "oracle"; }

 private:
    /// The microbatch of the activation; without an activation that of the tokens, modulo the
    /// vocabulary.
    Result<std::uint32_t> identify(const StageTensor* input, std::span<const std::uint32_t> tokens)
        const {
        if (tokens.empty()) {
            return mismatch("no tokens");
        }
        if (input == nullptr) {
            return tokens.front();
        }
        auto id = read_id(*input, kUp);
        if (id.has_value() && *id % vocabulary_ != tokens.front()) {
            return mismatch(
                "the activation of microbatch " + std::to_string(*id) +
                " came with other tokens, which begin with " + std::to_string(tokens.front())
            );
        }
        return id;
    }

    void count(std::uint32_t id, std::span<float> gradient) const {
        std::fill(gradient.begin(), gradient.end(), 0.0F);
        for (std::uint32_t layer = 0; layer < layers_; ++layer) {
            const auto counts = gradient.subspan(layer * layer_elements_, layer_elements_);
            for (std::size_t i = id; i < counts.size(); i += microbatches_) {
                counts[i] = 1.0F;
            }
        }
    }

    [[nodiscard]] double loss(std::uint32_t id) const {
        if (layers_ == 0) {
            return 0;
        }
        double sum = 0;
        for (std::uint32_t layer = 0; layer < layers_; ++layer) {
            sum += static_cast<double>(weights_[layer * layer_elements_ + id]);
        }
        return sum / static_cast<double>(layers_);
    }

    std::uint32_t microbatches_;
    std::uint32_t vocabulary_;
    std::uint32_t layers_;  // that are trained
    std::size_t layer_elements_;
    bool has_head_;
    std::span<const float> weights_;
    std::set<GraphKey> kept_;
};

}  // namespace

std::unique_ptr<StageCompute> make_oracle_compute(
    const swarm::run::RunConfig& config, const swarm::run::StageLayout& layout
) {
    return std::make_unique<OracleCompute>(config, layout);
}

}  // namespace stages

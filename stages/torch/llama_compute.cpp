#include "stages/torch/llama_compute.hpp"

#include "stages/torch/allocated_bytes.hpp"
#include "stages/torch/document_mask.hpp"
#include "stages/torch/host_tensor.hpp"
#include "stages/torch/intra_op_threads.hpp"
#include "stages/torch/library_error.hpp"
#include "stages/torch/second_pass.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/token_flags.hpp"
#include "swarm/base/try.hpp"
#include "swarm/run/training/boundary_maps.hpp"
#include "swarm/run/training/loop.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <algorithm>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>
#include <cmath>
#include <exception>
#include <optional>
#include <torch/csrc/autograd/autograd.h>
#include <torch/headeronly/version.h>
#include <utility>
#include <vector>

namespace stages::torch_backend {

using at::Tensor;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::run::LayerPath;
using swarm::run::looped_positions;
using swarm::run::RunConfig;
using swarm::run::StageLayout;

namespace {

Error mismatch(std::string detail) {
    return {ErrorCode::Mismatch, Reaction::Reject, std::move(detail)};
}

}  // namespace

template <class Body>
auto LlamaCompute::guarded(const char* what, Body body) -> decltype(body()) {
    try {
        compute_on(threads_);
        if (weights_error_) {
            return *weights_error_;
        }
        SWARM_ASSERT(has_weights_);
        return body();
    } catch (const c10::Error& error) {
        return library_error(what, error.what_without_backtrace());
    } catch (const std::exception& error) {
        return library_error(what, error.what());
    }
}

LlamaCompute::LlamaCompute(
    const RunConfig& config,
    const StageLayout& layout,
    at::Device device,
    std::uint32_t threads,
    std::string device_class,
    std::unique_ptr<TensorCoder> coder
)
    : config_(config),
      layout_(layout),
      device_(device),
      threads_(threads),
      device_class_(std::move(device_class)),
      coder_(std::move(coder)),
      model_(config, layout, device) {}

/// One tensor for each of `specs`, of values that follow each other.
std::vector<Tensor> LlamaCompute::tensors_of(
    std::span<const float> values, std::span<const swarm::run::TensorSpec> specs, bool trained
) const {
    std::vector<Tensor> tensors;
    for (const swarm::run::TensorSpec& spec : specs) {
        const std::vector<std::int64_t> shape(spec.shape.begin(), spec.shape.end());
        const auto own = values.first(spec.elements());
        tensors.push_back(to_tensor(own, shape, nullptr, device_).requires_grad_(trained));
        values = values.subspan(spec.elements());
    }
    return tensors;
}

void LlamaCompute::use_frozen(std::span<const float> weights) {
    SWARM_ASSERT(weights.size() == layout_.frozen_elements());
    frozen_error_.reset();
    try {
        compute_on(threads_);
        model_.set_frozen(tensors_of(weights, layout_.frozen, false));
    } catch (const c10::Error& error) {
        frozen_error_ = library_error("use_frozen", error.what_without_backtrace());
    }
}

void LlamaCompute::use_weights(std::span<const float> weights) {
    SWARM_ASSERT(weights.size() == layout_.elements());
    graphs_.clear();
    weights_error_ = frozen_error_;
    if (frozen_error_) {
        return;
    }
    try {
        compute_on(threads_);
        model_.set_weights(tensors_of(weights, layout_.tensors, true));
        has_weights_ = true;
    } catch (const c10::Error& error) {
        weights_error_ = library_error("use_weights", error.what_without_backtrace());
    }
}

std::uint32_t LlamaCompute::width_above() const {
    return swarm::run::activation_width(config_, layout_.stage);
}

std::uint32_t LlamaCompute::width_below() const {
    return swarm::run::activation_width(config_, {layout_.stage.value - 1});
}

Result<Tensor> LlamaCompute::read_tokens(
    std::span<const std::uint32_t> tokens, std::int64_t rows, std::int64_t columns
) const {
    if (tokens.size() != static_cast<std::size_t>(rows * columns)) {
        return mismatch(
            std::to_string(tokens.size()) + " tokens; this stage takes " + std::to_string(rows) +
            " x " + std::to_string(columns)
        );
    }
    const std::uint32_t vocabulary = config_.model.vocabulary;
    const auto beyond = std::find_if(tokens.begin(), tokens.end(), [&](std::uint32_t id) {
        return id >= vocabulary;
    });
    if (beyond != tokens.end()) {
        return Error{
            ErrorCode::Malformed,
            Reaction::Reject,
            "token id " + std::to_string(*beyond) + " is not below the vocabulary of " +
                std::to_string(vocabulary)};
    }
    const Tensor ids = at::empty({rows, columns}, at::kLong);
    std::copy(tokens.begin(), tokens.end(), ids.mutable_data_ptr<std::int64_t>());
    return ids.to(device_);
}

Result<Tensor> LlamaCompute::read_microbatch(std::span<const std::uint32_t> tokens) const {
    const std::size_t row = std::size_t{config_.model.context} + 1;
    std::vector<std::uint32_t> ids(tokens.begin(), tokens.end());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        ids[i] = i % row == 0 ? ids[i] : swarm::token_id(ids[i]);  // the first one is no target
    }
    return read_tokens(ids, config_.batch, static_cast<std::int64_t>(row));
}

Result<Tensor> LlamaCompute::training_input(
    const StageTensor* input, std::span<const std::uint32_t> tokens
) const {
    const std::int64_t batch = config_.batch;
    const std::int64_t context = config_.model.context;
    if (layout_.has_embedding != (input == nullptr)) {
        return mismatch(
            layout_.has_embedding ? "the first stage takes tokens, not an activation"
                                  : "this stage takes an activation and got none"
        );
    }
    if (input != nullptr) {
        auto activation = read_activation(*input, {batch, context, width_below()}, device_);
        if (activation && at::GradMode::is_enabled()) {
            activation->requires_grad_(true);
        }
        return activation;
    }
    SWARM_TRY(const auto ids, read_microbatch(tokens));
    return model_.embed(ids.narrow(1, 0, context));
}

Result<Tensor> LlamaCompute::mask_of(std::span<const std::uint32_t> tokens) const {
    if (!config_.train.separate_documents) {
        return Tensor();
    }
    SWARM_TRY(const auto ids, read_microbatch(tokens));
    const Tensor inputs = ids.narrow(1, 0, config_.model.context);
    return document_mask(inputs, config_.train.document_end.front());
}

Result<Tensor> LlamaCompute::ids_of(std::span<const std::uint32_t> tokens) const {
    if (layout_.has_embedding || config_.model.bottleneck == 0) {
        return Tensor();
    }
    SWARM_TRY(const auto ids, read_microbatch(tokens));
    return ids.narrow(1, 0, config_.model.context);
}

Result<Tensor> LlamaCompute::inference_input(
    const StageTensor* input, std::span<const std::uint32_t> tokens
) const {
    if (layout_.has_embedding != (input == nullptr)) {
        return mismatch("the first stage, and no other, takes tokens");
    }
    const std::size_t length =
        input == nullptr ? tokens.size() : (input->shape.size() == 3 ? input->shape[1] : 0);
    if (length == 0 || length > config_.model.context) {
        return mismatch(
            "a sequence of " + std::to_string(length) + " tokens; this model takes 1 to " +
            std::to_string(config_.model.context)
        );
    }
    const auto columns = static_cast<std::int64_t>(length);
    if (input != nullptr) {
        return read_activation(*input, {1, columns, width_below()}, device_);
    }
    SWARM_TRY(const auto ids, read_tokens(tokens, 1, columns));
    return model_.embed(ids);
}

Result<StageTensor> LlamaCompute::leave(const Tensor& tensor) const {
    return coder_ ? Result<StageTensor>(keep_on_device(tensor)) : to_host(tensor);
}

Result<std::vector<LossTerm>> LlamaCompute::terms_of(
    const LlamaModel::Layers& layers, std::span<const std::uint32_t> tokens
) const {
    std::vector<LossTerm> terms;
    if (layers.balance.defined() && layers.balance.requires_grad()) {
        const double factor = config_.train.balance / config_.microbatches;
        terms.push_back(scaled_term(layers.balance, factor));
    }
    const double factor = config_.train.exit_weight / config_.microbatches;
    const bool has_gradients = at::GradMode::is_enabled() && factor > 0;
    if (!has_gradients || layers.exits.empty()) {
        return terms;
    }
    SWARM_TRY(const auto ids, read_microbatch(tokens));
    const Targets targets = targets_of(ids, tokens);
    for (const Tensor& rows : layers.exits) {
        if (rows.requires_grad()) {
            terms.push_back(exit_term(model_, rows, targets, factor));
        }
    }
    return terms;
}

Result<StageTensor> LlamaCompute::differentiate(
    const KeptGraph& graph, const Tensor& by_output, std::span<float> gradient
) const {
    SWARM_ASSERT(gradient.size() == layout_.elements());
    std::vector<Tensor> leaves = model_.weights();
    if (graph.input.defined()) {
        leaves.push_back(graph.input);
    }
    if (leaves.empty()) {  // the first stage, all of it frozen
        return StageTensor{};
    }
    if (!graph.output.requires_grad() && graph.terms.empty()) {  // skips all that it trains
        std::ranges::fill(gradient, 0.0F);
        return StageTensor{};
    }
    std::vector<Tensor> outputs{graph.output};
    std::vector<Tensor> factors{by_output};
    for (const LossTerm& term : graph.terms) {
        outputs.push_back(term.at);
        factors.push_back(term.gradient);
    }
    // An expert that no token chose, and a layer that is skipped, has no part in the graph.
    const bool may_be_unused = config_.model.experts > 0 || config_.paths.skip_every > 0;
    const auto gradients = torch::autograd::grad(
        outputs, leaves, factors, std::nullopt, /*create_graph=*/false, may_be_unused
    );
    for (std::size_t i = 0; i < layout_.tensors.size(); ++i) {
        const auto part = gradient.first(layout_.tensors[i].elements());
        gradient = gradient.subspan(part.size());
        if (gradients[i].defined()) {
            at::from_blob(part.data(), gradients[i].sizes(), at::kFloat).copy_(gradients[i]);
        } else {
            std::ranges::fill(part, 0.0F);
        }
    }
    return graph.input.defined() ? leave(gradients.back()) : StageTensor{};
}

Result<StageTensor> LlamaCompute::forward(
    GraphKey key, const StageTensor* input, std::span<const std::uint32_t> tokens, Graph graph
) {
    return guarded("forward", [&]() -> Result<StageTensor> {
        if (layout_.has_head) {
            return mismatch("the last stage computes forward and loss in one call");
        }
        const bool keep = graph == Graph::Keep;
        const c10::AutoGradMode with_graph(keep);
        SWARM_TRY(const auto x, training_input(input, tokens));
        std::optional<AllocatedBytes> allocated;
        if (keep && graph_bytes_ == 0 && path_ == swarm::run::longest_path(config_.paths)) {
            allocated.emplace();
        }
        SWARM_TRY(const auto mask, mask_of(tokens));
        SWARM_TRY(const auto ids, ids_of(tokens));
        const LlamaModel::Layers layers = model_.run_layers(x, ids, mask, path_);
        SWARM_TRY(auto terms, terms_of(layers, tokens));
        if (allocated) {
            graph_bytes_ = allocated->count();
            allocated.reset();
        }
        if (keep) {
            const Tensor leaf = input == nullptr ? Tensor() : x;
            graphs_.insert_or_assign(key, KeptGraph{leaf, layers.rows, std::move(terms)});
        }
        return leave(layers.rows);
    });
}

Result<LlamaCompute::KeptGraph> LlamaCompute::run_tail(
    const StageTensor* input, std::span<const std::uint32_t> tokens, Pass pass, LayerPath path
) const {
    if (!layout_.has_head) {
        return mismatch("only the last stage computes a loss");
    }
    SWARM_TRY(const auto all, read_microbatch(tokens));
    const Targets targets = targets_of(all, tokens);
    SWARM_TRY(const auto x, training_input(input, tokens));
    SWARM_TRY(const auto mask, mask_of(tokens));
    SWARM_TRY(const auto ids, ids_of(tokens));
    const SecondPass second = pass == Pass::Only
                                  ? SecondPass{x}
                                  : second_pass(model_, x, mask, looped_positions(config_));
    LlamaModel::Layers layers = model_.run_layers(second.input, ids, mask, path);
    layers.exits.resize(pass == Pass::Only ? layers.exits.size() : 0);  // they are no looped rows
    const Tensor loss = pass == Pass::Only
                            ? model_.loss(layers.rows, targets.ids, targets.counted)
                            : looped_loss(model_, layers.rows, targets.ids, second.positions);
    if (!std::isfinite(loss.item<double>())) {
        return Error{
            ErrorCode::NotFinite,
            Reaction::Reject,
            "the loss is not finite; lower optimizer.learning_rate"};
    }
    SWARM_TRY(auto terms, terms_of(layers, tokens));
    return KeptGraph{input == nullptr ? Tensor() : x, loss, std::move(terms)};
}

Result<StageCompute::TailOutput> LlamaCompute::forward_tail(
    const StageTensor* input, std::span<const std::uint32_t> tokens, std::span<float> gradient
) {
    return guarded("forward_tail", [&]() -> Result<TailOutput> {
        SWARM_TRY(const auto graph, run_tail(input, tokens, Pass::Only, path_));
        return differentiate_tail(graph, gradient);
    });
}

Result<StageCompute::TailOutput> LlamaCompute::looped_tail(
    std::span<const std::uint32_t> tokens, std::span<float> gradient
) {
    return guarded("looped_tail", [&]() -> Result<TailOutput> {
        SWARM_TRY(const auto graph, run_tail(nullptr, tokens, Pass::Second, LayerPath::Plain));
        return differentiate_tail(graph, gradient);
    });
}

Result<StageCompute::TailOutput> LlamaCompute::differentiate_tail(
    const KeptGraph& graph, std::span<float> gradient
) const {
    const Tensor weight = at::full({}, 1.0 / config_.microbatches, graph.output.options());
    SWARM_TRY(auto below, differentiate(graph, weight, gradient));
    return TailOutput{graph.output.item<double>(), std::move(below)};
}

Result<double> LlamaCompute::tail_loss(
    const StageTensor* input, std::span<const std::uint32_t> tokens
) {
    return guarded("tail_loss", [&]() -> Result<double> {
        const c10::NoGradGuard no_graph;
        SWARM_TRY(const auto graph, run_tail(input, tokens, Pass::Only, LayerPath::Plain));
        return graph.output.item<double>();
    });
}

Result<StageTensor> LlamaCompute::backward(
    GraphKey key, const StageTensor& by_output, std::span<float> gradient
) {
    return guarded("backward", [&]() -> Result<StageTensor> {
        const auto kept = graphs_.find(key);
        if (kept == graphs_.end()) {
            return Error{
                ErrorCode::NotFound,
                Reaction::Reject,
                "no kept graph of microbatch " + std::to_string(key.microbatch.value) +
                    "; its forward ran elsewhere or was dropped"};
        }
        // A refused gradient leaves the graph for the next gradient.
        SWARM_TRY(
            const auto by,
            read_activation(
                by_output, {config_.batch, config_.model.context, width_above()}, device_
            )
        );
        const KeptGraph graph = std::move(kept->second);
        graphs_.erase(kept);
        return differentiate(graph, by, gradient);
    });
}

void LlamaCompute::drop(GraphKey key) {
    graphs_.erase(key);
}

void LlamaCompute::drop_all() {
    graphs_.clear();
}

Result<StageTensor> LlamaCompute::infer(
    const StageTensor* input, std::span<const std::uint32_t> tokens
) {
    return guarded("infer", [&]() -> Result<StageTensor> {
        const c10::NoGradGuard no_graph;
        SWARM_TRY(const auto x, inference_input(input, tokens));
        Tensor ids;
        if (!layout_.has_embedding && config_.model.bottleneck > 0) {
            SWARM_TRY(ids, read_tokens(tokens, 1, x.size(1)));
        }
        const Tensor output = model_.run_layers(x, ids).rows;
        if (!layout_.has_head) {
            return to_host(output);
        }
        const Tensor last = output.select(1, output.size(1) - 1);  // (1, C)
        return to_host(model_.logits(last).unsqueeze(0));
    });
}

std::string LlamaCompute::compute_class() const {
    return device_class_ + " LibTorch " TORCH_VERSION;
}

}  // namespace stages::torch_backend

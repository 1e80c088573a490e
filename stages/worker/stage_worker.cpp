#include "stages/worker/stage_worker.hpp"

#include "compression/codec.hpp"
#include "stages/compute/tensor_coder.hpp"
#include "stages/worker/tensor_checks.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/base/try.hpp"
#include "swarm/run/training/loop.hpp"
#include "swarm/run/training/paths.hpp"
#include "swarm/run/training/trained_part.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace stages {

using compression::CodecId;
using compression::TensorRole;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::protocol::Dtype;
using swarm::protocol::TensorEnvelope;

namespace {

Error mismatch(std::string detail) {
    return {ErrorCode::Mismatch, Reaction::Reject, std::move(detail)};
}

std::string to_text(const std::vector<std::uint32_t>& shape) {
    std::string text;
    for (const std::uint32_t dimension : shape) {
        text += (text.empty() ? "" : ", ") + std::to_string(dimension);
    }
    return "(" + text + ")";
}

/// The seed of stochastic rounding. It depends on neither attempt nor peer, so a replay sends the
/// same bytes.
std::uint64_t rounding_seed(
    std::uint64_t run_seed, const StageWorker::Leg& leg, swarm::StageIndex stage, TensorRole role
) {
    std::uint64_t seed = swarm::mix_bits(run_seed + 1);
    for (const std::uint64_t part :
         {leg.step, std::uint64_t{leg.key.microbatch.value}, std::uint64_t{stage.value}}) {
        seed = swarm::mix_bits(seed + part + 1);
    }
    return swarm::mix_bits(seed + (role == TensorRole::ActivationGradient ? 2 : 1));
}

/// The values of a Float32 payload whose size has been checked. They are copied only where they are
/// not aligned.
StageTensor view_floats(const Payload& payload) {
    const std::span<const std::byte> bytes = payload.bytes();
    StageTensor tensor{payload.envelope().shape, {}, payload.owner()};
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(float) != 0) {
        std::vector<float> copy(bytes.size() / sizeof(float));
        std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span(copy)).begin());
        return make_host_tensor(std::move(tensor.shape), std::move(copy));
    }
    const auto* const values = reinterpret_cast<const float*>(bytes.data());
    tensor.values = {values, bytes.size() / sizeof(float)};
    return tensor;
}

/// A payload of the tensor's values, which shares their owner: nothing is copied.
Payload alias(const StageTensor& tensor) {
    TensorEnvelope envelope{Dtype::Float32, CodecId::None, tensor.shape};
    return {std::move(envelope), std::as_bytes(tensor.values), tensor.owner};
}

const compression::Codec& codec_of(
    const swarm::run::LegCodecs& codecs, std::uint32_t boundary, TensorRole role
) {
    using swarm::protocol::Leg;
    const Leg leg = role == TensorRole::ActivationGradient ? Leg::Backward : Leg::Forward;
    const auto* const codec =
        compression::find_codec(codecs.at(swarm::run::leg_index(boundary, leg)));
    SWARM_ASSERT(codec != nullptr);  // a decoded message names only codecs that exist
    return *codec;
}

Result<> check_tokens(const swarm::run::RunConfig& config, std::span<const std::uint32_t> tokens) {
    const std::size_t row = std::size_t{config.model.context} + 1;
    const std::size_t want = config.batch * row;
    if (tokens.size() != want) {
        return mismatch(
            std::to_string(tokens.size()) + " tokens, the run needs " + std::to_string(want) +
            " per microbatch; they belong to another run"
        );
    }
    return check_training_tokens(tokens, row, config.model.vocabulary);
}

}  // namespace

StageWorker::StageWorker(
    const swarm::run::RunConfig& config,
    swarm::run::StageLayout layout,
    std::unique_ptr<StageCompute> compute
)
    : config_(config),
      layout_(std::move(layout)),
      compute_(std::move(compute)),
      graphs_(*compute_),
      codecs_(swarm::run::first_codecs(config)),
      state_(swarm::run::StageLayout{}),  // empty until start_from()
      accumulator_(
          layout_.elements(),
          config.microbatches,
          swarm::run::trains_tied_matrix(config) && layout_.has_embedding && layout_.has_head
              ? swarm::run::tied_elements(config)
              : 0
      ) {
    SWARM_ASSERT(compute_ != nullptr);
}

StageWorker::~StageWorker() = default;

swarm::Digest StageWorker::start_from_seed() {
    return start_from(StageState::from_seed(config_, layout_));
}

swarm::Digest StageWorker::start_from(StageState state) {
    SWARM_ASSERT(state.weights().size() == layout_.elements());
    state_ = std::move(state);
    drop_all_graphs();
    accumulator_.clear();
    if (!layout_.frozen.empty()) {
        compute_->use_frozen(state_.frozen());
    }
    compute_->use_weights(state_.weights());
    return state_.hash();
}

void StageWorker::use_weights(std::span<const float> weights) {
    state_.set_weights(weights);
    compute_->use_weights(state_.weights());
}

// Errors are ignored: a model may refuse zeros, and what else fails will fail for a real
// microbatch.
void StageWorker::warm_up() {
    const std::vector<std::uint32_t> tokens(
        std::size_t{config_.batch} * (config_.model.context + 1)
    );
    const auto zeros = [](std::vector<std::uint32_t> shape) {
        const TensorEnvelope tensor{Dtype::Float32, CodecId::None, shape};
        return make_host_tensor(std::move(shape), std::vector<float>(tensor.elements()));
    };
    const StageTensor below = layout_.has_embedding ? StageTensor{} : zeros(shape_below());
    const StageTensor* const input = layout_.has_embedding ? nullptr : &below;
    std::vector<float> gradient = take_buffer();
    compute_->take_path(swarm::run::longest_path(config_.paths));
    if (layout_.has_head) {
        static_cast<void>(compute_->forward_tail(input, tokens, gradient));
    } else if (compute_->forward({}, input, tokens, Graph::Keep)) {
        static_cast<void>(compute_->backward({}, zeros(shape_above()), gradient));
    }
    compute_->drop({});
    spare_.push_back(std::move(gradient));
}

Result<> StageWorker::check_leg(const Leg& leg) const {
    if (leg.key.microbatch.value >= config_.microbatches) {
        return mismatch(
            "microbatch " + std::to_string(leg.key.microbatch.value) + " of " +
            std::to_string(config_.microbatches) + " does not exist; it belongs to another run"
        );
    }
    return {};
}

const compression::Codec& StageWorker::codec_above(const Leg& leg, TensorRole role) const {
    return codec_of(leg.codecs.empty() ? codecs_ : leg.codecs, layout_.stage.value, role);
}

const compression::Codec& StageWorker::codec_below(const Leg& leg, TensorRole role) const {
    return codec_of(leg.codecs.empty() ? codecs_ : leg.codecs, layout_.stage.value - 1, role);
}

Result<Payload> StageWorker::encode(const StageTensor& tensor, const Leg& leg, TensorRole role)
    const {
    const bool goes_up = role == TensorRole::Activation;
    SWARM_ASSERT(tensor.shape == (goes_up ? shape_above() : shape_below()));
    const compression::Codec& codec = goes_up ? codec_above(leg, role) : codec_below(leg, role);
    TensorCoder* const coder = compute_->coder();
    if (tensor.on_device && !coder->serves(codec)) {
        const auto here = coder->to_host(tensor);
        return here.has_error() ? Result<Payload>(here.error()) : encode(*here, leg, role);
    }
    if (codec.id() == CodecId::None) {
        SWARM_TRY(check_finite(tensor.values));
        return alias(tensor);
    }
    TensorEnvelope envelope{Dtype::Float32, codec.id(), tensor.shape};
    std::vector<std::byte> bytes(codec.encoded_bytes(envelope.elements()));
    const std::uint64_t seed = rounding_seed(config_.seed, leg, layout_.stage, role);
    SWARM_TRY(
        tensor.on_device ? coder->encode(codec, tensor, role, seed, bytes)
                         : codec.encode(tensor.values, role, seed, bytes)
    );
    return Payload(std::move(envelope), std::move(bytes));
}

Result<StageTensor> StageWorker::decode(
    const Payload& payload, const compression::Codec& codec, std::vector<std::uint32_t> shape
) const {
    const TensorEnvelope want{Dtype::Float32, codec.id(), std::move(shape)};
    if (payload.envelope() != want) {
        return mismatch(
            "a tensor " + to_text(payload.envelope().shape) + " where one of fp32 " +
            to_text(want.shape) + " coded by " + std::string(codec.name()) +
            " belongs; the sender runs another model"
        );
    }
    const std::uint64_t elements = want.elements();
    if (payload.bytes().size() != codec.encoded_bytes(elements)) {
        return mismatch(
            "a tensor of " + std::to_string(payload.bytes().size()) + " bytes, its shape needs " +
            std::to_string(codec.encoded_bytes(elements))
        );
    }
    if (want.codec == CodecId::None) {
        StageTensor tensor = view_floats(payload);
        SWARM_TRY(check_finite(tensor.values));
        return tensor;
    }
    if (TensorCoder* const coder = compute_->coder(); coder && coder->serves(codec)) {
        return coder->decode(codec, payload.bytes(), want.shape);
    }
    std::vector<float> values(elements);
    SWARM_TRY(codec.decode(payload.bytes(), values));
    return make_host_tensor(want.shape, std::move(values));
}

Result<std::optional<StageTensor>> StageWorker::decode_input(const Leg& leg) const {
    if (layout_.has_embedding) {
        if (!leg.input.empty()) {
            return mismatch("an activation for the first stage, which takes tokens only");
        }
        return std::optional<StageTensor>();
    }
    const compression::Codec& codec = codec_below(leg, TensorRole::Activation);
    SWARM_TRY(auto input, decode(leg.input, codec, shape_below()));
    return std::optional<StageTensor>(std::move(input));
}

std::vector<float> StageWorker::take_buffer() {
    if (spare_.empty()) {
        return std::vector<float>(layout_.elements());
    }
    std::vector<float> buffer = std::move(spare_.back());
    spare_.pop_back();
    return buffer;
}

void StageWorker::keep_pending(GraphKey key, std::vector<float> gradient) {
    discard_pending(key);
    pending_.emplace(key, std::move(gradient));
}

Result<Payload> StageWorker::forward(const Leg& leg, Graph graph) {
    SWARM_ASSERT(!layout_.has_head);
    SWARM_TRY(check_leg(leg));
    SWARM_TRY(check_tokens(config_, leg.tokens));
    SWARM_TRY(const auto input, decode_input(leg));
    const StageTensor* const given = input ? &*input : nullptr;
    compute_->take_path(swarm::run::path_of(config_.paths, leg.step, leg.key.microbatch));
    SWARM_TRY(const auto output, compute_->forward(leg.key, given, leg.tokens, graph));
    auto coded = encode(output, leg, TensorRole::Activation);
    if (graph == Graph::Drop) {
        return coded;
    }
    if (coded.has_error()) {
        compute_->drop(leg.key);
    } else {
        graphs_.add(leg.key, input, leg.tokens);
    }
    return coded;
}

Result<StageWorker::TailOutcome> StageWorker::forward_tail(const Leg& leg) {
    SWARM_ASSERT(layout_.has_head);
    SWARM_TRY(check_leg(leg));
    SWARM_TRY(check_tokens(config_, leg.tokens));
    SWARM_TRY(const auto input, decode_input(leg));
    std::vector<float> gradient = take_buffer();
    compute_->take_path(swarm::run::path_of(config_.paths, leg.step, leg.key.microbatch));
    auto outcome = [&]() -> Result<TailOutcome> {
        const StageTensor* const given = input ? &*input : nullptr;
        SWARM_TRY(
            const auto output,
            swarm::run::is_looped(config_.loop, leg.step)
                ? compute_->looped_tail(leg.tokens, gradient)
                : compute_->forward_tail(given, leg.tokens, gradient)
        );
        if (!std::isfinite(output.loss)) {
            return Error{
                ErrorCode::NotFinite,
                Reaction::Reject,
                "the loss is not finite; lower the learning rate"};
        }
        SWARM_TRY(check_gradient(gradient));
        if (layout_.has_embedding) {
            return TailOutcome{output.loss, {}};
        }
        SWARM_TRY(
            const auto coded, encode(output.gradient_below, leg, TensorRole::ActivationGradient)
        );
        return TailOutcome{output.loss, coded};
    }();
    if (outcome.has_error()) {
        spare_.push_back(std::move(gradient));
    } else {
        keep_pending(leg.key, std::move(gradient));
    }
    return outcome;
}

Result<Payload> StageWorker::backward(const Leg& leg) {
    SWARM_ASSERT(!layout_.has_head);
    SWARM_TRY(check_leg(leg));
    const compression::Codec& codec = codec_above(leg, TensorRole::ActivationGradient);
    SWARM_TRY(const auto by_output, decode(leg.input, codec, shape_above()));
    std::vector<float> gradient = take_buffer();
    compute_->take_path(swarm::run::path_of(config_.paths, leg.step, leg.key.microbatch));
    auto outcome = [&]() -> Result<Payload> {
        SWARM_TRY(graphs_.restore(leg.key));  // by a second forward, which takes the same path
        SWARM_TRY(const auto below, compute_->backward(leg.key, by_output, gradient));
        graphs_.used(leg.key);
        SWARM_TRY(check_gradient(gradient));
        return layout_.has_embedding ? Result<Payload>(Payload())
                                     : encode(below, leg, TensorRole::ActivationGradient);
    }();
    if (outcome.has_error()) {
        spare_.push_back(std::move(gradient));
    } else {
        keep_pending(leg.key, std::move(gradient));
    }
    return outcome;
}

void StageWorker::accumulate(GraphKey key) {
    const auto pending = pending_.find(key);
    SWARM_ASSERT(pending != pending_.end());
    accumulator_.add(key.microbatch, pending->second);
    discard_pending(key);
}

void StageWorker::discard_pending(GraphKey key) {
    const auto pending = pending_.find(key);
    if (pending != pending_.end()) {
        spare_.push_back(std::move(pending->second));
        pending_.erase(pending);
    }
}

void StageWorker::drop_graph(GraphKey key) {
    graphs_.drop(key);
}

void StageWorker::drop_all_graphs() {
    graphs_.drop_all();
    for (auto& [key, gradient] : pending_) {
        spare_.push_back(std::move(gradient));
    }
    pending_.clear();
}

void StageWorker::clear_accumulator() {
    accumulator_.clear();
}

Result<Payload> StageWorker::infer(const Payload& input, std::span<const std::uint32_t> tokens) {
    if (tokens.empty() || tokens.size() > config_.model.context) {
        return mismatch(
            std::to_string(tokens.size()) + " tokens; a prompt has 1 to " +
            std::to_string(config_.model.context)
        );
    }
    SWARM_TRY(check_token_ids(tokens, config_.model.vocabulary));
    std::optional<StageTensor> given;
    if (!layout_.has_embedding) {
        std::vector<std::uint32_t> shape = shape_below();
        shape[0] = 1;
        if (config_.model.kind != swarm::run::ModelKind::Oracle) {
            shape[1] = static_cast<std::uint32_t>(tokens.size());
        }
        const TensorEnvelope want{Dtype::Float32, CodecId::None, std::move(shape)};
        if (input.envelope() != want || input.bytes().size() != want.elements() * sizeof(float)) {
            return mismatch("an activation that does not fit the prompt; ask again");
        }
        given = view_floats(input);
        SWARM_TRY(check_finite(given->values));
    }
    SWARM_TRY(const auto output, compute_->infer(given ? &*given : nullptr, tokens));
    return alias(output);
}

Result<std::optional<StageTensor>> StageWorker::held_out_input(
    const Payload& input, std::span<const std::uint32_t> tokens
) const {
    SWARM_TRY(check_tokens(config_, tokens));
    if (layout_.has_embedding) {
        if (!input.empty()) {
            return mismatch("an activation for the first stage, which takes tokens only");
        }
        return std::optional<StageTensor>();
    }
    const compression::Codec& none = *compression::find_codec(CodecId::None);
    SWARM_TRY(auto given, decode(input, none, shape_below()));
    return std::optional<StageTensor>(std::move(given));
}

// The oracle tells microbatches apart by their first token, so the key has that one.
Result<Payload> StageWorker::forward_held_out(
    const Payload& input, std::span<const std::uint32_t> tokens
) {
    SWARM_ASSERT(!layout_.has_head);
    SWARM_TRY(const auto given, held_out_input(input, tokens));
    const GraphKey key{{tokens.front()}, {}};
    compute_->take_path(swarm::run::LayerPath::Plain);
    SWARM_TRY(
        auto output, compute_->forward(key, given ? &*given : nullptr, tokens, Graph::Drop)
    );
    if (output.on_device) {
        SWARM_TRY(output, compute_->coder()->to_host(output));
    }
    SWARM_TRY(check_finite(output.values));
    return alias(output);
}

Result<double> StageWorker::tail_loss(
    const Payload& input, std::span<const std::uint32_t> tokens
) {
    SWARM_ASSERT(layout_.has_head);
    SWARM_TRY(const auto given, held_out_input(input, tokens));
    SWARM_TRY(const double loss, compute_->tail_loss(given ? &*given : nullptr, tokens));
    if (!std::isfinite(loss)) {
        return Error{ErrorCode::NotFinite, Reaction::Reject, "the held-out loss is not finite"};
    }
    return loss;
}

}  // namespace stages

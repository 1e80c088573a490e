#include "stacking/models/model_digest.hpp"

#include "stacking/models/limits.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

namespace stacking::models {
namespace {

using swarm::Digest;
using swarm::Result;
using swarm::Sha256;

/// Adds a part with its length, so that two different lists of parts never give the same bytes.
void add(Sha256& hash, const std::string& text) {
    hash.add_text(std::to_string(text.size()) + ":" + text);
}

void add(Sha256& hash, std::uint64_t number) {
    add(hash, std::to_string(number));
}

void add(Sha256& hash, double number) {
    add(hash, std::bit_cast<std::uint64_t>(number));
}

void add(Sha256& hash, const std::string& name, const StoredTensor& tensor) {
    add(hash, name);
    add(hash, static_cast<std::uint64_t>(tensor.type));
    add(hash, std::uint64_t{tensor.shape.size()});
    for (const std::uint32_t size : tensor.shape) {
        add(hash, std::uint64_t{size});
    }
    add(hash, std::uint64_t{tensor.interleaved_heads});
    if (tensor.added != 0) {
        add(hash, static_cast<double>(tensor.added));
    }
    if (tensor.adapter) {
        add(hash, std::uint64_t{tensor.adapter->rank});
        add(hash, static_cast<double>(tensor.adapter->scale));
        hash.add(std::as_bytes(std::span(tensor.adapter->out)));
        hash.add(std::as_bytes(std::span(tensor.adapter->in)));
    }
    if (!tensor.scales.values.empty()) {
        add(hash, std::uint64_t{tensor.scales.block_rows});
        add(hash, std::uint64_t{tensor.scales.block_columns});
        hash.add(std::as_bytes(std::span(tensor.scales.values)));
    }
}

void add(Sha256& hash, const RopeScaling& rope) {
    add(hash, static_cast<std::uint64_t>(rope.kind));
    for (const double number :
         {rope.factor,
          rope.low_frequency_factor,
          rope.high_frequency_factor,
          rope.beta_fast,
          rope.beta_slow,
          rope.magnitude}) {
        add(hash, number);
    }
    add(hash, std::uint64_t{rope.truncate});
    add(hash, std::uint64_t{rope.original_context});
    add(hash, std::uint64_t{rope.divisors.size()});
    for (const float divisor : rope.divisors) {
        add(hash, static_cast<double>(divisor));
    }
}

/// All that changes the computation, so two models with the same weights have two names when they
/// compute different things with them.
void add(Sha256& hash, const Traits& traits) {
    add(hash, traits.rope);
    for (const std::uint64_t number :
         {std::uint64_t{traits.head_width},
          std::uint64_t{traits.rotary_width},
          std::uint64_t{traits.layers.size()},
          static_cast<std::uint64_t>(traits.norms),
          static_cast<std::uint64_t>(traits.query_key_norm),
          static_cast<std::uint64_t>(traits.activation),
          std::uint64_t{traits.experts.count},
          std::uint64_t{traits.experts.chosen},
          std::uint64_t{traits.experts.renormalise},
          std::uint64_t{traits.experts.shared_width}}) {
        add(hash, number);
    }
    for (const std::uint32_t layer : traits.bottlenecks.layers) {
        add(hash, std::uint64_t{layer});
        add(hash, std::uint64_t{traits.bottlenecks.width});
    }
    for (const LayerAttention& layer : traits.layers) {
        add(hash, std::uint64_t{layer.window});
        add(hash, static_cast<std::uint64_t>(layer.rope));
    }
    for (const double number :
         {traits.local_rope_base,
          traits.attention_scale,
          traits.attention_soft_cap,
          traits.logit_soft_cap,
          traits.embedding_scale,
          traits.residual_scale,
          traits.logit_scale}) {
        add(hash, number);
    }
}

Result<> add_bytes(
    Sha256& hash, const ModelSource& model, const StoredTensor& tensor, std::uint64_t count
) {
    std::vector<std::byte> bytes;
    for (std::uint64_t at = 0; at < count; at += bytes.size()) {
        bytes.resize(std::min<std::uint64_t>(kReadBytes, count - at));
        SWARM_TRY(model.read_stored(tensor, at, bytes));
        hash.add(bytes);
    }
    return {};
}

}  // namespace

Result<Digest> identity_of(const ModelSource& model) {
    Sha256 hash;
    const swarm::run::ModelConfig& config = model.architecture().model;
    for (const std::uint32_t number :
         {config.layers,
          config.width,
          config.heads,
          config.kv_heads,
          config.ffn_width,
          config.vocabulary,
          config.context}) {
        add(hash, std::uint64_t{number});
    }
    add(hash, config.rope_base);
    add(hash, config.norm_epsilon);
    if (!model.architecture().traits.plain()) {
        add(hash, model.architecture().traits);
    }
    for (const auto& [name, tensor] : model.tensors()) {
        add(hash, name, tensor);
        const std::uint64_t sample = std::min<std::uint64_t>(kSampleBytes, tensor.bytes);
        SWARM_TRY(add_bytes(hash, model, tensor, sample));
    }
    return hash.finish();
}

Result<Digest> digest_of(const ModelSource& model, const swarm::run::StageLayout& layers) {
    Sha256 hash;
    for (const swarm::run::TensorSpec& wanted : layers.tensors) {
        const StoredTensor& tensor = model.tensors().find(wanted.name)->second;
        add(hash, wanted.name, tensor);
        SWARM_TRY(add_bytes(hash, model, tensor, tensor.bytes));
    }
    return hash.finish();
}

}  // namespace stacking::models

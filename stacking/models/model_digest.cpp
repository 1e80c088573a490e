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

void add(Sha256& hash, const std::string& name, const StoredTensor& tensor) {
    add(hash, name);
    add(hash, static_cast<std::uint64_t>(tensor.type));
    add(hash, tensor.shape.size());
    for (const std::uint32_t size : tensor.shape) {
        add(hash, size);
    }
    add(hash, tensor.interleaved_heads);
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
        add(hash, number);
    }
    add(hash, std::bit_cast<std::uint64_t>(config.rope_base));
    add(hash, std::bit_cast<std::uint64_t>(config.norm_epsilon));
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

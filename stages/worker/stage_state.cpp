#include "stages/worker/stage_state.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/base/try.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/run/state_chunk.hpp"
#include "swarm/run/training/boundary_maps.hpp"
#include "swarm/run/training/exits.hpp"
#include "swarm/run/training/trained_part.hpp"
#include "swarm/run/training/weight_decay.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace stages {

using swarm::Digest;
using swarm::node::Payload;
using swarm::run::StageLayout;
using swarm::run::TensorSpec;

static_assert(
    std::endian::native == std::endian::little, "states are hashed as they lie in memory"
);

namespace {

// near_normal() adds the four 16-bit numbers of one random word. The sum has mean 131,070 and
// variance 4 (2^32 - 1) / 12.
constexpr std::int32_t kFourMean = 131070;
constexpr float kFourToTwoPercent = static_cast<float>(0.02 / 37837.22738);

std::uint64_t stream_of(const std::string& tensor_name) {
    std::uint64_t stream = 0;
    for (const char letter : tensor_name) {
        stream = swarm::mix_bits(stream + static_cast<unsigned char>(letter) + 1);
    }
    return stream;
}

/// "layers.3.attn.bq".
bool is_bias(std::string_view tensor_name) {
    return tensor_name.find(".attn.b") != std::string_view::npos;
}

float near_normal(std::uint64_t word) {
    std::int32_t sum = -kFourMean;
    for (int i = 0; i < 4; ++i) {
        sum += static_cast<std::int32_t>((word >> (16 * i)) & 0xffff);
    }
    return static_cast<float>(sum) * kFourToTwoPercent;
}

swarm::Error wrong_size(const std::string& what, std::uint64_t have, std::uint64_t want) {
    return {
        swarm::ErrorCode::Mismatch,
        swarm::Reaction::Reject,
        what + " is " + std::to_string(have) + ", the layout needs " + std::to_string(want) +
            "; it belongs to another run or stage"};
}

/// The scalars of one step, each rounded to float once.
struct AdamWScalars {
    float clip;
    float rate;
    float beta1;
    float rest1;  // 1 - beta1
    float beta2;
    float rest2;
    float correction1;
    float correction2;
    float epsilon;
    float decay;
};

AdamWScalars round_scalars(
    const swarm::run::OptimizerConfig& optimizer, const swarm::protocol::StepScalars& scalars
) {
    return {
        .clip = static_cast<float>(scalars.clip_factor),
        .rate = static_cast<float>(scalars.learning_rate),
        .beta1 = static_cast<float>(optimizer.beta1),
        .rest1 = static_cast<float>(1.0 - optimizer.beta1),
        .beta2 = static_cast<float>(optimizer.beta2),
        .rest2 = static_cast<float>(1.0 - optimizer.beta2),
        .correction1 = static_cast<float>(scalars.bias_correction1),
        .correction2 = static_cast<float>(scalars.bias_correction2),
        .epsilon = static_cast<float>(optimizer.epsilon),
        .decay = static_cast<float>(optimizer.weight_decay)};
}

// The order of operations is part of the agreement between peers: do not simplify it.
void adamw(
    const AdamWScalars s,
    const float* __restrict gradient,
    float* __restrict weights,
    float* __restrict first,
    float* __restrict second,
    std::size_t count
) {
    for (std::size_t i = 0; i < count; ++i) {
        const float g = gradient[i] * s.clip;
        const float m = s.beta1 * first[i] + s.rest1 * g;
        const float v = s.beta2 * second[i] + s.rest2 * (g * g);
        first[i] = m;
        second[i] = v;
        const float direction = (m / s.correction1) / (std::sqrt(v / s.correction2) + s.epsilon);
        weights[i] = weights[i] - s.rate * (direction + s.decay * weights[i]);
    }
}

}  // namespace

void fill_initial(std::uint64_t seed, const TensorSpec& tensor, std::span<float> values) {
    SWARM_ASSERT(values.size() == tensor.elements());
    if (tensor.shape.size() < 2) {
        std::fill(values.begin(), values.end(), is_bias(tensor.name) ? 0.0F : 1.0F);
        return;
    }
    if (swarm::run::is_boundary_map(tensor.name)) {
        const std::size_t columns = tensor.shape[1];
        std::fill(values.begin(), values.end(), 0.0F);
        for (std::size_t at = 0; at < values.size(); at += columns + 1) {
            values[at] = 1.0F;  // on the diagonal
        }
        return;
    }
    if (tensor.name.ends_with(swarm::run::kAdapterOut)) {
        std::fill(values.begin(), values.end(), 0.0F);
        return;
    }
    swarm::Rng rng(seed, stream_of(tensor.name));
    for (float& value : values) {
        value = near_normal(rng.next());
    }
}

namespace {

/// Fills in the first values of these tensors, one after the other.
void fill_all(
    const swarm::run::RunConfig& config,
    std::span<const TensorSpec> tensors,
    std::span<float> values
) {
    for (TensorSpec tensor : tensors) {
        tensor.name = swarm::run::original_of(tensor.name);
        const bool is_table = swarm::run::is_token_table(tensor.name);
        const bool is_tied = config.model.tied_embeddings && tensor.name == swarm::run::kHeadTensor;
        if (is_tied || is_table) {
            tensor.name = swarm::run::kEmbeddingTensor;
        }
        const std::span<float> own = values.first(tensor.elements());
        fill_initial(config.seed, tensor, own);
        for (std::size_t row = 0; is_table && row < own.size(); row += tensor.shape[1]) {
            std::ranges::fill(own.subspan(row, config.model.bottleneck), 0.0F);  // these crossed
        }
        values = values.subspan(own.size());
    }
}

}  // namespace

StageState::StageState(const StageLayout& layout)
    : layout_(std::make_shared<const StageLayout>(layout)),
      weights_(std::vector<float>(layout.elements())),
      first_moments_(std::vector<float>(layout.elements())),
      second_moments_(std::vector<float>(layout.elements())),
      frozen_(std::make_shared<const std::vector<float>>(layout.frozen_elements())) {}

StageState StageState::from_seed(const swarm::run::RunConfig& config, const StageLayout& layout) {
    StageState state(layout);
    fill_all(config, layout.tensors, state.weights_.own());
    if (!layout.frozen.empty()) {
        std::vector<float> frozen(layout.frozen_elements());
        fill_all(config, layout.frozen, frozen);
        state.frozen_ = std::make_shared<const std::vector<float>>(std::move(frozen));
    }
    return state;
}

StageState StageState::from_tensors(
    const StageLayout& layout,
    swarm::ParameterVersion version,
    std::vector<float> weights,
    std::vector<float> first_moments,
    std::vector<float> second_moments,
    std::vector<float> frozen
) {
    const std::uint64_t elements = layout.elements();
    SWARM_ASSERT(
        weights.size() == elements && first_moments.size() == elements &&
        second_moments.size() == elements && frozen.size() == layout.frozen_elements()
    );
    StageState state(StageLayout{});
    state.layout_ = std::make_shared<const StageLayout>(layout);
    state.version_ = version;
    state.weights_ = SharedValues(std::move(weights));
    state.first_moments_ = SharedValues(std::move(first_moments));
    state.second_moments_ = SharedValues(std::move(second_moments));
    state.frozen_ = std::make_shared<const std::vector<float>>(std::move(frozen));
    return state;
}

/// Visits the trained part of the stream.
template <class State, class Visitor>
void StageState::visit_stream(State& state, std::uint64_t begin, std::uint64_t end, Visitor visit) {
    std::uint64_t tensor_begin = 0;  // byte of the stream at which the tensor begins
    std::size_t first_element = 0;
    for (const TensorSpec& tensor : state.layout_->tensors) {
        const std::size_t elements = tensor.elements();
        const std::uint64_t part_bytes = elements * sizeof(float);
        for (auto* const part : {&state.weights_, &state.first_moments_, &state.second_moments_}) {
            const std::uint64_t from = std::max(begin, tensor_begin);
            const std::uint64_t to = std::min(end, tensor_begin + part_bytes);
            if (from < to) {
                if constexpr (std::is_const_v<State>) {
                    const auto piece = part->view().subspan(first_element, elements);
                    visit(std::as_bytes(piece).subspan(from - tensor_begin, to - from));
                } else {
                    const auto piece = part->own().subspan(first_element, elements);
                    visit(std::as_writable_bytes(piece).subspan(from - tensor_begin, to - from));
                }
            }
            tensor_begin += part_bytes;
        }
        first_element += elements;
    }
}

swarm::Result<> StageState::check_chunks(
    const StageLayout& layout, std::span<const Payload> chunks
) {
    const std::uint64_t bytes = layout.state_bytes();
    const std::uint32_t count = swarm::run::chunk_count(bytes, layout.chunk_bytes_max);
    if (chunks.size() != count) {
        return wrong_size("the number of state chunks", chunks.size(), count);
    }
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        const std::uint64_t want =
            swarm::run::chunk_bytes(bytes, static_cast<std::uint32_t>(i), layout.chunk_bytes_max);
        if (chunks[i].bytes().size() != want) {
            const std::string what = "the size of state chunk " + std::to_string(i);
            return wrong_size(what, chunks[i].bytes().size(), want);
        }
    }
    return {};
}

swarm::Result<StageState> StageState::from_chunks(
    const StageLayout& layout, swarm::ParameterVersion version, std::span<const Payload> chunks
) {
    SWARM_TRY(check_chunks(layout, chunks));
    StageState state(layout);
    state.version_ = version;
    std::vector<float> frozen(layout.frozen_elements());
    std::span<std::byte> still_frozen = std::as_writable_bytes(std::span(frozen));
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        std::span<const std::byte> rest = chunks[i].bytes();
        const std::uint64_t begin = i * layout.chunk_bytes_max;
        visit_stream(state, begin, begin + rest.size(), [&rest](std::span<std::byte> piece) {
            std::memcpy(piece.data(), rest.data(), piece.size());
            rest = rest.subspan(piece.size());
        });
        std::ranges::copy(rest, still_frozen.begin());  // the rest follows the trained part
        still_frozen = still_frozen.subspan(rest.size());
    }
    state.frozen_ = std::make_shared<const std::vector<float>>(std::move(frozen));
    return state;
}

std::uint32_t StageState::chunk_count() const {
    return swarm::run::chunk_count(bytes(), layout_->chunk_bytes_max);
}

std::vector<std::byte> StageState::stream(std::uint64_t begin, std::uint64_t end) const {
    std::vector<std::byte> copy;
    copy.reserve(end - begin);
    visit_stream(*this, begin, end, [&copy](std::span<const std::byte> piece) {
        copy.insert(copy.end(), piece.begin(), piece.end());
    });
    const std::span<const std::byte> rest = frozen_bytes(begin, end);
    copy.insert(copy.end(), rest.begin(), rest.end());
    return copy;
}

Payload StageState::chunk(std::uint32_t index) const {
    SWARM_ASSERT(index < chunk_count());
    const std::uint64_t most = layout_->chunk_bytes_max;
    const std::uint64_t begin = index * most;
    std::vector<std::byte> copy = stream(begin, std::min(begin + most, bytes()));
    swarm::protocol::TensorEnvelope envelope;
    envelope.shape = {static_cast<std::uint32_t>(copy.size())};
    return {std::move(envelope), std::move(copy)};
}

std::span<const std::byte> StageState::frozen_bytes(std::uint64_t begin, std::uint64_t end) const {
    const std::uint64_t trained = 12 * weights_.size();
    const std::uint64_t from = std::max(begin, trained) - trained;
    const std::uint64_t to = std::max(end, trained) - trained;
    return std::as_bytes(std::span(*frozen_)).subspan(from, to - from);
}

std::vector<Digest> StageState::digests(std::uint64_t begin, std::uint64_t end) const {
    std::vector<Digest> digests;
    swarm::Sha256 hash;
    const std::uint64_t most = layout_->chunk_bytes_max;
    for (; begin < end; begin += most) {
        const std::uint64_t chunk_end = std::min(begin + most, bytes());
        visit_stream(*this, begin, chunk_end, [&hash](std::span<const std::byte> piece) {
            hash.add(piece);
        });
        hash.add(frozen_bytes(begin, chunk_end));
        digests.push_back(hash.finish());
    }
    return digests;
}

std::vector<Digest> StageState::manifest() const {
    const std::uint64_t most = layout_->chunk_bytes_max;
    const std::uint64_t trained = 12 * weights_.size();
    const std::uint64_t constant = std::min((trained + most - 1) / most * most, bytes());
    std::vector<Digest> all = digests(0, constant);
    if (!frozen_digests_) {
        frozen_digests_ = std::make_shared<const std::vector<Digest>>(digests(constant, bytes()));
    }
    all.insert(all.end(), frozen_digests_->begin(), frozen_digests_->end());
    return all;
}

Digest StageState::hash() const {
    return manifest_hash(manifest());
}

void StageState::set_weights(std::span<const float> weights) {
    SWARM_ASSERT(weights.size() == weights_.size());
    std::ranges::copy(weights, weights_.own().begin());
}

void StageState::apply(
    const swarm::run::OptimizerConfig& optimizer,
    const swarm::protocol::StepScalars& scalars,
    std::span<const float> gradient
) {
    ++version_.step;
    if (scalars.skips()) {
        return;
    }
    SWARM_ASSERT(gradient.size() == weights_.size());
    const std::span<float> weights = weights_.own();
    const std::span<float> first = first_moments_.own();
    const std::span<float> second = second_moments_.own();
    AdamWScalars rounded = round_scalars(optimizer, scalars);
    const float decay = rounded.decay;
    std::size_t begin = 0;
    for (const TensorSpec& tensor : layout_->tensors) {
        rounded.decay = swarm::run::has_weight_decay(optimizer, tensor) ? decay : 0.0F;
        adamw(
            rounded,
            gradient.data() + begin,
            weights.data() + begin,
            first.data() + begin,
            second.data() + begin,
            tensor.elements()
        );
        begin += tensor.elements();
    }
}

Digest manifest_hash(std::span<const Digest> manifest) {
    swarm::Sha256 hash;
    for (const Digest& digest : manifest) {
        hash.add(digest.bytes);
    }
    return hash.finish();
}

Digest weights_hash(std::span<const std::span<const float>> stages) {
    swarm::Sha256 hash;
    for (const std::span<const float> weights : stages) {
        hash.add(std::as_bytes(weights));
    }
    return hash.finish();
}

}  // namespace stages

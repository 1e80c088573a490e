#include "stages/worker/sparse_sync.hpp"

#include "stages/worker/tensor_checks.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace stages {

using compression::Codec;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::run::StageLayout;
using swarm::run::TensorSpec;

namespace {

// The order of operations is part of the agreement between replicas: do not simplify it.

void add_pseudo_gradient(
    const float* __restrict shared,
    const float* __restrict local,
    float* __restrict error,
    std::size_t count
) {
    for (std::size_t i = 0; i < count; ++i) {
        error[i] = kErrorDecay * error[i] + (shared[i] - local[i]);
    }
}

void subtract(const float* __restrict sent, float* __restrict error, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        error[i] = error[i] - sent[i];
    }
}

void add_weighted(
    float weight, const float* __restrict sent, float* __restrict sum, std::size_t count
) {
    for (std::size_t i = 0; i < count; ++i) {
        sum[i] = sum[i] + weight * sent[i];
    }
}

void subtract_mean(
    float total, const float* __restrict shared, float* __restrict sum, std::size_t count
) {
    for (std::size_t i = 0; i < count; ++i) {
        sum[i] = shared[i] - sum[i] / total;
    }
}

std::uint64_t largest_tensor(const StageLayout& layout) {
    std::uint64_t largest = 0;
    for (const TensorSpec& tensor : layout.tensors) {
        largest = std::max(largest, tensor.elements());
    }
    return largest;
}

/// Where a tensor lies in flat weights and in a share.
struct Piece {
    std::size_t begin = 0;     // first element in the weights
    std::size_t elements = 0;  // number of elements
    std::size_t byte = 0;      // first byte in the share
    std::size_t bytes = 0;     // number of bytes in the share
};

/// Calls visit(piece) for each tensor until one fails.
template <class Visit>
Result<> for_each_tensor(const StageLayout& layout, const Codec& codec, Visit visit) {
    Piece piece;
    for (const TensorSpec& tensor : layout.tensors) {
        piece.elements = tensor.elements();
        piece.bytes = codec.encoded_bytes(piece.elements);
        SWARM_TRY(visit(piece));
        piece.begin += piece.elements;
        piece.byte += piece.bytes;
    }
    return {};
}

}  // namespace

std::uint64_t share_bytes(const StageLayout& layout, const Codec& codec) {
    std::uint64_t bytes = 0;
    for (const TensorSpec& tensor : layout.tensors) {
        bytes += codec.encoded_bytes(tensor.elements());
    }
    return bytes;
}

Result<std::vector<std::byte>> take_share(
    const StageLayout& layout,
    const Codec& codec,
    std::span<const float> shared,
    std::span<const float> local,
    std::span<float> error,
    std::uint64_t seed
) {
    const std::size_t count = layout.elements();
    SWARM_ASSERT(shared.size() == count && local.size() == count && error.size() == count);
    add_pseudo_gradient(shared.data(), local.data(), error.data(), count);
    std::vector<std::byte> bytes(share_bytes(layout, codec));
    std::vector<float> sent(largest_tensor(layout));
    const auto code = [&](const Piece& piece) -> Result<> {
        const std::span<float> tensor = error.subspan(piece.begin, piece.elements);
        const std::span<std::byte> coded = std::span(bytes).subspan(piece.byte, piece.bytes);
        const std::span<float> back = std::span(sent).first(piece.elements);
        const auto role = compression::TensorRole::PseudoGradient;
        SWARM_TRY(codec.encode(tensor, role, seed, coded));
        SWARM_TRY(codec.decode(coded, back));
        subtract(back.data(), tensor.data(), tensor.size());
        return {};
    };
    SWARM_TRY(for_each_tensor(layout, codec, code));
    return bytes;
}

Result<> apply_shares(
    const StageLayout& layout,
    const Codec& codec,
    std::span<const SparseShare> shares,
    std::span<float> shared
) {
    SWARM_ASSERT(!shares.empty() && shared.size() == layout.elements());
    std::vector<float> sum(shared.size());
    std::vector<float> sent(largest_tensor(layout));
    std::uint64_t microbatches = 0;
    for (const SparseShare& share : shares) {
        if (share.bytes.size() != share_bytes(layout, codec)) {
            return Error{
                ErrorCode::Mismatch,
                Reaction::Reject,
                "a share of " + std::to_string(share.bytes.size()) + " bytes, the stage's have " +
                    std::to_string(share_bytes(layout, codec)) + "; it belongs to another stage"};
        }
        microbatches += share.microbatches;
        const auto weight = static_cast<float>(share.microbatches);
        const auto add = [&](const Piece& piece) -> Result<> {
            const std::span<float> back = std::span(sent).first(piece.elements);
            const auto coded = std::span(share.bytes).subspan(piece.byte, piece.bytes);
            SWARM_TRY(codec.decode(coded, back));
            add_weighted(weight, back.data(), sum.data() + piece.begin, back.size());
            return {};
        };
        SWARM_TRY(for_each_tensor(layout, codec, add));
    }
    SWARM_ASSERT(microbatches > 0);
    subtract_mean(static_cast<float>(microbatches), shared.data(), sum.data(), sum.size());
    SWARM_TRY(check_finite(sum));
    std::ranges::copy(sum, shared.begin());
    return {};
}

}  // namespace stages

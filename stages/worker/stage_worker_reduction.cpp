// The part of StageWorker that turns accumulators into one optimizer step.
#include "compression/byte_planes.hpp"
#include "stages/worker/reduction_math.hpp"
#include "stages/worker/stage_worker.hpp"
#include "stages/worker/tensor_checks.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace stages {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::protocol::CodecId;
using swarm::protocol::Dtype;
using swarm::protocol::TensorEnvelope;

namespace {

TensorEnvelope slice_envelope(Dtype dtype, std::size_t elements) {
    return {dtype, CodecId::None, {static_cast<std::uint32_t>(elements)}};
}

TensorEnvelope packed_envelope(std::size_t elements) {
    return {Dtype::Int64, CodecId::BytePlanes, {static_cast<std::uint32_t>(elements)}};
}

/// A copy that never changes: parts are sent while the worker goes on.
template <class Value>
Payload copy_of(Dtype dtype, std::span<const Value> values) {
    auto owner = std::make_shared<const std::vector<Value>>(values.begin(), values.end());
    const auto bytes = std::as_bytes(std::span<const Value>(*owner));
    return {slice_envelope(dtype, values.size()), bytes, std::move(owner)};
}

Result<> check_slice(const Payload& part, Dtype dtype, std::size_t elements) {
    if (part.envelope() == slice_envelope(dtype, elements) &&
        part.bytes().size() == elements * swarm::protocol::bytes_of(dtype)) {
        return {};
    }
    return Error{
        ErrorCode::Mismatch,
        Reaction::Reject,
        "a part of " + std::to_string(part.envelope().elements()) + " elements and " +
            std::to_string(part.bytes().size()) + " bytes, the slice has " +
            std::to_string(elements) + " elements; the sender has another group or stage"};
}

Payload packed_or_copied(std::span<const std::int64_t> sums) {
    auto packed = compression::pack_integers(sums);
    if (!packed || packed->size() >= sums.size_bytes()) {
        return copy_of(Dtype::Int64, sums);
    }
    return {packed_envelope(sums.size()), std::move(*packed)};
}

/// Adds the sums of a part, which are packed or raw. On an error nothing is added.
Result<> add_coded(const Payload& part, std::span<std::int64_t> to) {
    if (part.envelope() == packed_envelope(to.size())) {
        const auto memory = std::make_unique_for_overwrite<std::int64_t[]>(to.size());
        const std::span<std::int64_t> sums(memory.get(), to.size());
        SWARM_TRY(compression::unpack_integers(part.bytes(), sums));
        add_sums(std::as_bytes(sums), to);
        return {};
    }
    SWARM_TRY(check_slice(part, Dtype::Int64, to.size()));
    add_sums(part.bytes(), to);
    return {};
}

}  // namespace

std::uint64_t StageWorker::extended_elements() const {
    return layout_.elements() + config_.microbatches;
}

std::span<float> StageWorker::slice_of_result(std::uint32_t slice) {
    const SliceRange range = slices_.range(slice);
    return std::span(result_).subspan(range.begin, range.size());
}

std::span<const std::int64_t> StageWorker::slice_of_sums(std::uint32_t slice) const {
    const SliceRange range = slices_.range(slice);
    return accumulator_.sums().subspan(range.begin, range.size());
}

std::span<std::int64_t> StageWorker::own_sums(SliceRange range) {
    const SliceRange portion = slices_.portion(own_);
    SWARM_ASSERT(portion.begin <= range.begin && range.end <= portion.end);
    return std::span(own_portion_).subspan(range.begin - portion.begin, range.size());
}

void StageWorker::begin_observed_result(const Slices& slices) {
    slices_ = slices;
    own_portion_.clear();
    result_.resize(extended_elements());
    gathered_.assign(slices.count(), false);
}

void StageWorker::begin_result(std::uint32_t own, const Slices& slices) {
    begin_observed_result(slices);
    own_ = own;
    const SliceRange portion = slices.portion(own);
    const auto sums = accumulator_.sums().subspan(portion.begin, portion.size());
    own_portion_.assign(sums.begin(), sums.end());
}

Payload StageWorker::scatter_part(std::uint32_t slice) const {
    return copy_of<std::int64_t>(Dtype::Int64, slice_of_sums(slice));
}

Payload StageWorker::packed_scatter_part(std::uint32_t slice) const {
    return packed_or_copied(slice_of_sums(slice));
}

Result<> StageWorker::add_part(std::uint32_t slice, const Payload& part) {
    return add_coded(part, own_sums(slices_.range(slice)));
}

Payload StageWorker::tied_part(SliceRange range) {
    return packed_or_copied(own_sums(range));
}

Result<> StageWorker::add_tied_part(SliceRange range, const Payload& part) {
    return add_coded(part, own_sums(range));
}

Payload StageWorker::finish_slice(std::uint32_t slice) {
    const std::span<float> values = slice_of_result(slice);
    to_values(own_sums(slices_.range(slice)), values);
    gathered_[slice] = true;
    return copy_of<float>(Dtype::Float32, values);
}

SliceRange StageWorker::range_of(std::string_view tensor) const {
    SliceRange range;
    for (const swarm::run::TensorSpec& spec : layout_.tensors) {
        range = {range.end, range.end + spec.elements()};
        if (spec.name == tensor) {
            return range;
        }
    }
    return {};
}

std::span<const std::int64_t> StageWorker::sums_of(std::string_view tensor) const {
    const SliceRange range = range_of(tensor);
    return accumulator_.sums().subspan(range.begin, range.size());
}

void StageWorker::finish_alone(std::span<const std::int64_t> tied) {
    const Slices slices(extended_elements(), 1);
    begin_result(0, slices);
    for (const char* const use : {swarm::run::kEmbeddingTensor, swarm::run::kHeadTensor}) {
        const SliceRange range = range_of(use);
        if (!tied.empty() && range.size() > 0) {
            SWARM_ASSERT(range.size() == tied.size());
            std::copy(
                tied.begin(), tied.end(), std::span(own_portion_).subspan(range.begin).begin()
            );
        }
    }
    for (std::uint32_t slice = 0; slice < slices.count(); ++slice) {
        finish_slice(slice);
    }
}

Result<> StageWorker::store_gathered(std::uint32_t slice, const Payload& values) {
    if (slice >= slices_.count()) {
        return Error{
            ErrorCode::Mismatch,
            Reaction::Reject,
            "slice " + std::to_string(slice) + " of " + std::to_string(slices_.count()) +
                " does not exist; the sender has another group"};
    }
    const std::span<float> target = slice_of_result(slice);
    SWARM_TRY(check_slice(values, Dtype::Float32, target.size()));
    const std::span<std::byte> bytes = std::as_writable_bytes(target);
    std::copy(values.bytes().begin(), values.bytes().end(), bytes.begin());
    gathered_[slice] = false;
    SWARM_TRY(check_finite(target));
    gathered_[slice] = true;
    return {};
}

std::vector<std::uint32_t> StageWorker::missing_slices() const {
    std::vector<std::uint32_t> missing;
    for (std::uint32_t slice = 0; slice < slices_.count(); ++slice) {
        if (!gathered_[slice]) {
            missing.push_back(slice);
        }
    }
    return missing;
}

StageWorker::ResultSummary StageWorker::summarise_result() const {
    SWARM_ASSERT(missing_slices().empty());
    ResultSummary summary;
    const std::span<const float> result(result_);
    std::size_t begin = 0;
    for (const swarm::run::TensorSpec& tensor : layout_.tensors) {
        // The clip norm counts a tied matrix once, as the embedding.
        const bool again = config_.model.tied_embeddings && tensor.name == swarm::run::kHeadTensor;
        summary.sums_of_squares.push_back(
            again ? 0 : sum_of_squares(result.subspan(begin, tensor.elements()))
        );
        begin += tensor.elements();
    }
    for (const float counter : result.subspan(begin)) {
        summary.counted_once += counter == 1.0F ? 1 : 0;
        summary.counted_wrong += counter != 1.0F && counter != 0.0F ? 1 : 0;
    }
    summary.hash = swarm::sha256(std::as_bytes(result));
    return summary;
}

swarm::Digest StageWorker::apply(const swarm::protocol::StepScalars& scalars, std::uint64_t step) {
    SWARM_ASSERT(state_.version().step == step);
    std::span<const float> gradient;
    if (!scalars.skips()) {
        SWARM_ASSERT(std::find(gathered_.begin(), gathered_.end(), false) == gathered_.end());
        gradient = std::span<const float>(result_).first(layout_.elements());
    }
    state_.apply(config_.optimizer, scalars, gradient);
    accumulator_.clear();
    compute_->use_weights(state_.weights());
    return state_.hash();
}

}  // namespace stages

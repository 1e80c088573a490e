#include "stages/torch/host_tensor.hpp"

#include "swarm/base/check.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

namespace stages::torch_backend {

using at::Tensor;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;

namespace {

constexpr std::uintptr_t kAlignmentBytes = 64;
constexpr std::uintptr_t kCoderAlignment = 16;
constexpr std::uint32_t kExponent = 0x7F80'0000;  // an exponent of ones marks infinity or NaN

template <class Shape>
std::string describe(const Shape& shape) {
    std::string text = "(";
    for (const auto dimension : shape) {
        text += (text.size() == 1 ? "" : ", ") + std::to_string(dimension);
    }
    return text + ")";
}

std::vector<std::uint32_t> shape_of(const Tensor& tensor) {
    return {tensor.sizes().begin(), tensor.sizes().end()};
}

}  // namespace

bool all_finite(std::span<const float> values) {
    std::uint32_t bad = 0;
    for (const float value : values) {
        bad |= static_cast<std::uint32_t>(
            (std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent
        );
    }
    return bad == 0;
}

Tensor to_tensor(
    std::span<const float> values,
    at::IntArrayRef shape,
    std::shared_ptr<const void> owner,
    at::Device device
) {
    // from_blob() takes a mutable pointer; no operation of ours writes through it.
    auto* const data = const_cast<float*>(values.data());
    const Tensor view = at::from_blob(
        data, shape, [kept = std::move(owner)](void*) {}, at::kFloat
    );
    if (!device.is_cpu()) {
        return view.to(device);
    }
    const bool aligned = reinterpret_cast<std::uintptr_t>(data) % kAlignmentBytes == 0;
    return aligned ? view : at::empty(shape, at::kFloat).copy_(view);
}

Tensor on_device(const StageTensor& tensor) {
    SWARM_ASSERT(tensor.on_device && tensor.owner);
    // detach() keeps settings of one tensor, such as requires_grad, from showing in the other.
    return static_cast<const Tensor*>(tensor.owner.get())->detach();
}

StageTensor keep_on_device(const Tensor& tensor) {
    auto kept = std::make_shared<Tensor>(tensor.detach().contiguous());
    if (reinterpret_cast<std::uintptr_t>(kept->const_data_ptr<float>()) % kCoderAlignment != 0) {
        *kept = kept->clone();
    }
    return StageTensor{shape_of(*kept), {}, std::move(kept), true};
}

Result<Tensor> read_activation(
    const StageTensor& host, const std::array<std::int64_t, 3>& shape, at::Device device
) {
    const auto elements = static_cast<std::size_t>(shape[0] * shape[1] * shape[2]);
    if (!std::equal(host.shape.begin(), host.shape.end(), shape.begin(), shape.end()) ||
        (!host.on_device && host.values.size() != elements)) {
        return Error{
            ErrorCode::Mismatch,
            Reaction::Reject,
            "a tensor of shape " + describe(host.shape) + " with " +
                std::to_string(host.values.size()) + " values; this stage takes " +
                describe(shape)};
    }
    if (host.on_device) {
        return on_device(host);
    }
    if (!all_finite(host.values)) {
        return Error{
            ErrorCode::NotFinite, Reaction::Reject, "a tensor with a value that is not finite"};
    }
    return to_tensor(host.values, shape, host.owner, device);
}

Result<StageTensor> to_host(const Tensor& tensor) {
    auto kept = std::make_shared<Tensor>(tensor.detach().to(at::kCPU).contiguous());
    const std::span<const float> values(
        kept->const_data_ptr<float>(), static_cast<std::size_t>(kept->numel())
    );
    if (!all_finite(values)) {
        return Error{
            ErrorCode::NotFinite,
            Reaction::Reject,
            "this stage computed a value that is not finite; lower optimizer.learning_rate"};
    }
    return StageTensor{shape_of(*kept), values, std::move(kept)};
}

}  // namespace stages::torch_backend

#include "stages/torch/device_coder.hpp"

#include "stages/torch/host_tensor.hpp"
#include "stages/torch/library_error.hpp"
#include "swarm/base/try.hpp"

#include <ATen/ops/empty.h>
#include <algorithm>
#include <c10/util/Exception.h>
#include <utility>

namespace stages::torch_backend {

bool DeviceCoder::serves(const compression::Codec& codec) const {
    using compression::cuda::Direction;
    return compression::cuda::job_of(
               codec, Direction::Decode, compression::TensorRole::Activation, 0
    )
        .has_value();
}

Result<> DeviceCoder::encode(
    const compression::Codec& codec,
    const StageTensor& tensor,
    compression::TensorRole role,
    std::uint64_t seed,
    std::span<std::byte> out
) {
    const at::Tensor there = on_device(tensor);
    const std::span<const float> values(
        there.const_data_ptr<float>(), static_cast<std::size_t>(there.numel())
    );
    SWARM_TRY(const auto coded, gpu_.encode(codec, values, role, seed));
    std::ranges::copy(coded, out.begin());
    return {};
}

Result<StageTensor> DeviceCoder::decode(
    const compression::Codec& codec,
    std::span<const std::byte> bytes,
    std::vector<std::uint32_t> shape
) {
    SWARM_TRY(const auto pinned, gpu_.reserve(bytes.size()));
    std::ranges::copy(bytes, pinned.begin());
    try {
        const std::vector<std::int64_t> sizes(shape.begin(), shape.end());
        const auto options = at::device(device_).dtype(at::kFloat);
        auto kept = std::make_shared<at::Tensor>(at::empty(sizes, options));
        const std::span<float> values(
            kept->mutable_data_ptr<float>(), static_cast<std::size_t>(kept->numel())
        );
        SWARM_TRY(gpu_.decode(codec, pinned, values));
        return StageTensor{std::move(shape), {}, std::move(kept), true};
    } catch (const c10::Error& error) {
        return library_error("decode", error.what_without_backtrace());
    }
}

Result<StageTensor> DeviceCoder::to_host(const StageTensor& tensor) {
    try {
        return torch_backend::to_host(on_device(tensor));
    } catch (const c10::Error& error) {
        return library_error("to_host", error.what_without_backtrace());
    }
}

}  // namespace stages::torch_backend

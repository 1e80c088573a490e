// A TensorCoder for the GPU that computes (compression/cuda); its tensors are LibTorch's.
// Threading: that of TensorCoder. Errors: those of TensorCoder, and Unsupported (Fatal) when
// LibTorch itself fails.
// Cost: one kernel and one copy to pinned memory per tensor that is sent, and one copy in host
// memory into the payload; the same for a tensor that is received.
#pragma once

#include "compression/cuda/gpu.hpp"
#include "stages/compute/tensor_coder.hpp"

#include <ATen/core/Tensor.h>

namespace stages::torch_backend {

class DeviceCoder final : public TensorCoder {
 public:
    /// `gpu` is open on `device`, and on the stream that LibTorch computes on.
    DeviceCoder(compression::cuda::Gpu gpu, at::Device device)
        : gpu_(std::move(gpu)), device_(device) {}

    [[nodiscard]] bool serves(const compression::Codec& codec) const override;
    Result<> encode(
        const compression::Codec& codec,
        const StageTensor& tensor,
        compression::TensorRole role,
        std::uint64_t seed,
        std::span<std::byte> out
    ) override;
    Result<StageTensor> decode(
        const compression::Codec& codec,
        std::span<const std::byte> bytes,
        std::vector<std::uint32_t> shape
    ) override;
    Result<StageTensor> to_host(const StageTensor& tensor) override;

 private:
    compression::cuda::Gpu gpu_;
    at::Device device_;
};

}  // namespace stages::torch_backend

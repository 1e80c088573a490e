// Between what enters and leaves a stage and LibTorch tensors, without a copy where bits allow it.
// Invariant: a tensor that takes part in arithmetic starts on a 64-byte boundary. The matrix
// library picks its summation order by alignment (measured: 12 of 16 offsets change the last bits
// of a one-row product), so an unaligned span is copied; equal values then give equal bits
// wherever they lie.
// Errors: Mismatch (shape), NotFinite.
#pragma once

#include "stages/compute.hpp"
#include "swarm/base/result.hpp"

#include <ATen/core/Tensor.h>
#include <array>
#include <cstdint>
#include <memory>
#include <span>

namespace stages::torch_backend {

/// A view of `values` where they are aligned and the device is the CPU, else a copy. `owner` lives
/// as long as the view does.
at::Tensor to_tensor(
    std::span<const float> values,
    at::IntArrayRef shape,
    std::shared_ptr<const void> owner,
    at::Device device
);

/// Of a tensor that keep_on_device() or a DeviceCoder has made.
at::Tensor on_device(const StageTensor& tensor);

/// Stays where it is, at a multiple of 16 bytes. Its values are not looked at.
StageTensor keep_on_device(const at::Tensor& tensor);

/// An activation or a gradient of one, as it came in.
Result<at::Tensor> read_activation(
    const StageTensor& host, const std::array<std::int64_t, 3>& shape, at::Device device
);

/// Shares the tensor's memory when it is contiguous and on the CPU.
Result<StageTensor> to_host(const at::Tensor& tensor);

/// One pass over the exponents.
bool all_finite(std::span<const float> values);

}  // namespace stages::torch_backend

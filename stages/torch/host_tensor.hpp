// Converts between StageTensor and LibTorch tensors, without a copy where the bits allow it.
// Invariant: a tensor that takes part in arithmetic starts on a 64-byte boundary. The matrix
// library picks its summation order by alignment (measured: 12 of 16 offsets change the last bits
// of a one-row product), so an unaligned span is copied. Equal values then give equal bits wherever
// they lie.
// Threading: pure functions. Shapes: (B, T, C) fp32. Errors, all Reject: Mismatch (shape),
// NotFinite.
#pragma once

#include "stages/compute/compute.hpp"
#include "swarm/base/result.hpp"

#include <ATen/core/Tensor.h>
#include <array>
#include <cstdint>
#include <memory>
#include <span>

namespace stages::torch_backend {

/// Returns a view of `values` where they are aligned and the device is the CPU, else a copy.
/// `owner`
/// lives as long as the view does.
at::Tensor to_tensor(
    std::span<const float> values,
    at::IntArrayRef shape,
    std::shared_ptr<const void> owner,
    at::Device device
);

/// Returns the LibTorch tensor of a StageTensor that keep_on_device() or a DeviceCoder has made.
at::Tensor on_device(const StageTensor& tensor);

/// Keeps the tensor on its device, at a multiple of 16 bytes. Its values are not checked.
StageTensor keep_on_device(const at::Tensor& tensor);

/// Checks an activation or its gradient that came in, and returns it as a LibTorch tensor.
Result<at::Tensor> read_activation(
    const StageTensor& host, const std::array<std::int64_t, 3>& shape, at::Device device
);

/// Returns the values in host memory. The tensor's memory is shared when it is contiguous and on
/// the
/// CPU. Error: NotFinite.
Result<StageTensor> to_host(const at::Tensor& tensor);

/// True when no value is infinite or NaN. Cost: one pass over the exponents.
bool all_finite(std::span<const float> values);

}  // namespace stages::torch_backend

// The tensor that enters and leaves a stage's compute: floats with an owner, in host memory or on
// the compute's device.
// Invariant: a tensor on the device has no `values`, so nobody reads them by mistake.
// Threading: that of the owner. Shapes: (B, T, C) fp32, row-major.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace stages {

struct StageTensor {
    std::vector<std::uint32_t> shape;
    std::span<const float> values;      // values in host memory
    std::shared_ptr<const void> owner;  // a vector, or a tensor of the library that made the values
    bool on_device = false;  // the owner has the values, for the compute that made it and its coder
};

/// The tensor owns the values, in host memory.
StageTensor make_host_tensor(std::vector<std::uint32_t> shape, std::vector<float> values);

}  // namespace stages

// What enters and leaves a stage's compute: floats with an owner, in host memory or on its device.
// Invariant: what is on the device has no values here, so nobody reads them by mistake.
// Threading: as the owner's. Shapes: (B, T, C) fp32, row-major.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace stages {

struct StageTensor {
    std::vector<std::uint32_t> shape;
    std::span<const float> values;      // in host memory
    std::shared_ptr<const void> owner;  // a vector, or a tensor of the library that made them
    bool on_device = false;  // then the owner has them, for the compute that made it and its coder
};

StageTensor make_host_tensor(std::vector<std::uint32_t> shape, std::vector<float> values);

}  // namespace stages

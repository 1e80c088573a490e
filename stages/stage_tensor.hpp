// What enters and leaves a stage's compute: floats with an owner, in host memory or on its device.
// Threading: as the owner's. Shapes: (B, T, C) fp32, row-major.
#pragma once

#include "swarm/base/result.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace stages {

using swarm::Result;

struct StageTensor {
    std::vector<std::uint32_t> shape;
    std::span<const float> values;
    std::shared_ptr<const void> owner;  // a vector, or a tensor of the library that made them
    bool on_device = false;  // then only the compute that made them and its coder read the values
};

StageTensor make_host_tensor(std::vector<std::uint32_t> shape, std::vector<float> values);

}  // namespace stages

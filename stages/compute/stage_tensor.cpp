#include "stages/compute/stage_tensor.hpp"

#include <utility>

namespace stages {

StageTensor make_host_tensor(std::vector<std::uint32_t> shape, std::vector<float> values) {
    auto owner = std::make_shared<const std::vector<float>>(std::move(values));
    const std::span<const float> view(*owner);
    return {std::move(shape), view, std::move(owner)};
}

}  // namespace stages

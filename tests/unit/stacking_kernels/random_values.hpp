// Random values for tests, the same on every machine.
#pragma once

#include "swarm/base/rng.hpp"

#include <cstddef>
#include <vector>

namespace stacking::kernels::test {

/// A matrix of so many rows and columns.
struct Shape {
    std::size_t outputs;
    std::size_t inputs;
};

/// Returns values with a bell-shaped distribution around 0.
inline std::vector<float> random_values(std::size_t count, std::uint64_t seed, double width = 1) {
    swarm::Rng rng(seed, count);
    std::vector<float> values(count);
    for (float& value : values) {
        value = static_cast<float>(width * (rng.unit() + rng.unit() + rng.unit() + rng.unit() - 2));
    }
    return values;
}

}  // namespace stacking::kernels::test

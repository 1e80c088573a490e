#include "stages/worker/reduction_math.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace stages {

namespace {

constexpr std::size_t kBlock = std::size_t{1} << 16;
constexpr std::size_t kLanes = 8;

double block_sum(std::span<const float> block) {
    std::array<double, kLanes> lanes{};
    const std::size_t whole = block.size() / kLanes * kLanes;
    for (std::size_t i = 0; i < whole; i += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const auto value = static_cast<double>(block[i + lane]);
            lanes[lane] += value * value;
        }
    }
    for (std::size_t i = whole; i < block.size(); ++i) {
        const auto value = static_cast<double>(block[i]);
        lanes[i - whole] += value * value;
    }
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
           ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

}  // namespace

void add_sums(std::span<const std::byte> part, std::span<std::int64_t> sums) {
    SWARM_ASSERT(part.size() == sums.size() * sizeof(std::int64_t));
    for (std::size_t i = 0; i < sums.size(); ++i) {
        std::uint64_t other = 0;
        std::memcpy(&other, part.data() + i * sizeof(other), sizeof(other));
        sums[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sums[i]) + other);
    }
}

double sum_of_squares(std::span<const float> tensor) {
    double sum = 0;
    for (std::size_t begin = 0; begin < tensor.size(); begin += kBlock) {
        sum += block_sum(tensor.subspan(begin, std::min(kBlock, tensor.size() - begin)));
    }
    return sum;
}

}  // namespace stages

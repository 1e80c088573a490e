#include "stages/worker/accumulator.hpp"

#include "stages/worker/tensor_checks.hpp"
#include "swarm/base/check.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <bit>

namespace stages {

using swarm::protocol::kGradientFractionBits;
using swarm::protocol::kGradientMagnitudeMax;

namespace {

constexpr double kScale = static_cast<double>(std::int64_t{1} << kGradientFractionBits);
constexpr double kInverseScale = 1.0 / kScale;
constexpr std::int64_t kOne = std::int64_t{1} << kGradientFractionBits;

// In [2^52, 2^53) neighbouring doubles are 1 apart, so adding 1.5 x 2^52 rounds |x| <= 2^51 to the
// nearest integer, ties to even, and leaves it in the low bits. That takes one addition and one
// subtraction of integers: every ISA level has them as vectors, and all give the same bits. The
// product g x 2^40 is exact (a change of exponent), so a fused multiply-add gives the same bits.
constexpr double kRoundingShift = 0x1.8p52;
constexpr auto kRoundingBits = std::bit_cast<std::int64_t>(kRoundingShift);
static_assert(kGradientMagnitudeMax * kScale <= 0x1p51);

std::int64_t to_fixed(float gradient) {
    const double scaled = static_cast<double>(gradient) * kScale;
    return std::bit_cast<std::int64_t>(scaled + kRoundingShift) - kRoundingBits;
}

}  // namespace

swarm::Result<> check_gradient(std::span<const float> gradient) {
    return check_below(gradient, static_cast<float>(kGradientMagnitudeMax), "gradient");
}

float to_value(std::int64_t sum) {
    return static_cast<float>(static_cast<double>(sum) * kInverseScale);
}

void to_values(std::span<const std::int64_t> sums, std::span<float> values) {
    SWARM_ASSERT(sums.size() == values.size());
    std::transform(sums.begin(), sums.end(), values.begin(), to_value);
}

void Accumulator::add(swarm::MicrobatchId id, std::span<const float> gradient) {
    SWARM_ASSERT(gradient.size() == elements_ && id.value < sums_.size() - elements_);
    std::int64_t* const sums = sums_.data();
    const float* const values = gradient.data();
    const std::size_t count = gradient.size();
    for (std::size_t i = 0; i < count; ++i) {
        sums[i] += to_fixed(values[i]);
    }
    const std::size_t other_use = count - tied_;
    for (std::size_t i = 0; i < tied_; ++i) {
        sums[i] += to_fixed(values[other_use + i]);
        sums[other_use + i] += to_fixed(values[i]);
    }
    sums[count + id.value] += kOne;
}

void Accumulator::clear() {
    std::fill(sums_.begin(), sums_.end(), 0);
}

}  // namespace stages

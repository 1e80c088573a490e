#include "swarm/data/sample_order.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/rng.hpp"

#include <algorithm>
#include <bit>

namespace swarm::data {
namespace {

constexpr unsigned kRounds = 8;
constexpr unsigned kBitsLeast = 6;  // fewer bits are mixed badly
constexpr std::uint64_t kSizeMax = 1ULL << 62;

constexpr std::uint64_t low_mask(unsigned bits) {
    return (1ULL << bits) - 1;
}

}  // namespace

SampleOrder::SampleOrder(std::uint64_t size, std::uint64_t key) : size_(size), key_(key) {
    SWARM_ASSERT(size >= 1 && size <= kSizeMax);
    const unsigned bits = std::max(static_cast<unsigned>(std::bit_width(size - 1)), kBitsLeast);
    low_bits_ = bits / 2;
    high_bits_ = bits - low_bits_;
}

std::uint64_t SampleOrder::operator()(std::uint64_t index) const {
    SWARM_ASSERT(index < size_);
    // The passes go around a cycle that holds `index`, which is inside, so they come to an end.
    std::uint64_t value = pass(index);
    while (value >= size_) {
        value = pass(value);
    }
    return value;
}

/// Each round changes one half by a function of the other, which can be undone.
std::uint64_t SampleOrder::pass(std::uint64_t value) const {
    std::uint64_t low = value & low_mask(low_bits_);
    std::uint64_t high = value >> low_bits_;
    for (unsigned round = 0; round < kRounds; round += 2) {
        high ^= mix_bits(key_ + mix_bits(low * 64 + round)) & low_mask(high_bits_);
        low ^= mix_bits(key_ + mix_bits(high * 64 + round + 1)) & low_mask(low_bits_);
    }
    return high << low_bits_ | low;
}

std::uint64_t order_key(std::uint64_t seed, std::uint64_t stream, std::uint64_t epoch) {
    return mix_bits(mix_bits(mix_bits(seed + 1) ^ (stream + 1)) + epoch);
}

}  // namespace swarm::data

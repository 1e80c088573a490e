// The random numbers of stochastic rounding: a function of (seed, group, place in the group), so
// that any path and any order give the same.
// Invariant: uniform in [0, 2^32); every vector path repeats draw() operation by operation.
// Cost: one 64-bit mix per group, two 32-bit multiplications per value.
// Source: counters as in Salmon et al. (SC 2011); the mixer is Wellons' lowbias32, with the upper
// half of the group's key put in between, so that two groups never share a sequence.
#pragma once

#include "swarm/base/rng.hpp"

#include <cstdint>

namespace compression::simd {

inline constexpr std::uint32_t kPlaceStep = 0x9e3779b9;
inline constexpr std::uint32_t kMixOne = 0x7feb352d;
inline constexpr std::uint32_t kMixTwo = 0x846ca68b;

struct GroupKey {
    std::uint32_t low;
    std::uint32_t high;
};

constexpr GroupKey group_key(std::uint64_t seed, std::uint64_t group) {
    const std::uint64_t key = swarm::mix_bits(swarm::mix_bits(seed) + group + 1);
    return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

constexpr std::uint32_t draw(GroupKey key, std::uint32_t place) {
    std::uint32_t bits = key.low + place * kPlaceStep;
    bits = (bits ^ (bits >> 16)) * kMixOne;
    bits ^= key.high;
    bits = (bits ^ (bits >> 15)) * kMixTwo;
    return bits ^ (bits >> 16);
}

/// A value in steps, times 2^kFractionBits, is rounded to an integer; then a draw of as many bits
/// is added and the fraction cut off. 7 * 2^19 stays below 2^22, so fp32 rounds it exactly; the
/// expected value is off by at most 2^-20 of a step.
inline constexpr int kFractionBits = 19;
inline constexpr float kFractionOne = 0x1p+19F;

}  // namespace compression::simd

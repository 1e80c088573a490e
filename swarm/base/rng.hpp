// Seeded randomness, the same sequence on every compiler and machine (std distributions differ).
// One generator per peer and purpose, split from a seed by name, not by order of creation.
// Source: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
#pragma once

#include <cstdint>

namespace swarm {

/// Bijective mixer: every input bit moves every output bit.
constexpr std::uint64_t mix_bits(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

class Rng {
 public:
    Rng(std::uint64_t seed, std::uint64_t stream) : state_(mix_bits(seed) ^ mix_bits(~stream)) {}

    std::uint64_t next() { return mix_bits(state_ += 0x9e3779b97f4a7c15); }

    /// Uniform in [0, bound); the bias is below bound / 2^64. bound > 0.
    std::uint64_t below(std::uint64_t bound) { return next() % bound; }

    /// True in `numerator` of `denominator` cases.
    bool chance(std::uint64_t numerator, std::uint64_t denominator) {
        return below(denominator) < numerator;
    }

    /// Uniform in [0, 1) with 53 bits.
    double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
    std::uint64_t state_;
};

}  // namespace swarm

// Random numbers from a seed: the same sequence on every compiler and machine, which the
// distributions of std do not promise. Each peer has one generator per purpose; its stream follows
// from the seed and the purpose's name, not from the order in which generators are made.
// Source: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
#pragma once

#include <cstdint>

namespace swarm {

/// Mixes bits one to one: every input bit changes every output bit.
constexpr std::uint64_t mix_bits(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

class Rng {
 public:
    Rng(std::uint64_t seed, std::uint64_t stream) : state_(mix_bits(seed) ^ mix_bits(~stream)) {}

    std::uint64_t next() { return mix_bits(state_ += 0x9e3779b97f4a7c15); }

    /// Returns a uniform number in [0, bound); the bias is below bound / 2^64. Requires bound > 0.
    std::uint64_t below(std::uint64_t bound) { return next() % bound; }

    /// Returns true in `numerator` of `denominator` cases.
    bool chance(std::uint64_t numerator, std::uint64_t denominator) {
        return below(denominator) < numerator;
    }

    /// Returns a uniform number in [0, 1) with 53 random bits.
    double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
    std::uint64_t state_;
};

}  // namespace swarm

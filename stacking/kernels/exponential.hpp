// exp() in fp32 as every path computes it, because the exp() of libm differs between processors.
//   x = n ln 2 + r, |r| <= ln 2 / 2;  exp(x) = 2^n (1 + r + r^2/2 + ... + r^7/7!)
// Invariant: the result is 0 below -88, exp(88) from 88 on, and NaN for NaN. The relative error is
// below 2^-22. Every vector path repeats exponential() operation by operation.
// Threading: pure function. Errors: none. Source: own.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace stacking::kernels {

inline constexpr float kExpMin = -88;
inline constexpr float kExpMax = 88;
inline constexpr float kLog2E = 0x1.715476p+0F;
inline constexpr float kLn2High = 0x1.62e4p-1F;    // upper 15 bits of ln 2: n times it is exact
inline constexpr float kLn2Low = 0x1.7f7d1cp-20F;  // rest of ln 2
inline constexpr float kRoundMagic = 0x1.8p+23F;   // its sum with x has round(x) in the low bits
inline constexpr std::uint32_t kExponentBias = 127;
inline constexpr int kMantissaBits = 23;
/// Factors of r^7 to r^0: 1/7! ... 1/2!, 1, 1.
inline constexpr float kExpTerms[] = {
    1.0F / 5040, 1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F};

inline float exponential(float x) {
    // This order of operands keeps NaN: vector minimum and maximum return their second operand.
    x = x < kExpMin ? kExpMin : x;
    x = x > kExpMax ? kExpMax : x;
    const float shifted = std::fma(x, kLog2E, kRoundMagic);
    const float n = shifted - kRoundMagic;
    const float r = std::fma(-n, kLn2Low, std::fma(-n, kLn2High, x));
    float sum = kExpTerms[0];
    for (std::size_t term = 1; term < std::size(kExpTerms); ++term) {
        sum = std::fma(sum, r, kExpTerms[term]);
    }
    const std::uint32_t power = std::bit_cast<std::uint32_t>(shifted) -
                                std::bit_cast<std::uint32_t>(kRoundMagic) + kExponentBias;
    return sum * std::bit_cast<float>(power << kMantissaBits);
}

}  // namespace stacking::kernels

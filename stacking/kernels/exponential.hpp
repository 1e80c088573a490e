// exp() in fp32, as every path computes it: libm's differs between processors.
//   x = n ln 2 + r, |r| <= ln 2 / 2;  exp(x) = 2^n (1 + r + r^2/2 + ... + r^7/7!)
// Invariant: below -88 it is 0, from 88 on exp(88); NaN gives NaN. The relative error is below
// 2^-22. Every vector path repeats exponential() operation by operation. Source: own.
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
inline constexpr float kLn2High = 0x1.62e4p-1F;    // 15 bits: n times it is exact
inline constexpr float kLn2Low = 0x1.7f7d1cp-20F;  // the rest
inline constexpr float kRoundMagic = 0x1.8p+23F;   // added, it leaves the nearest integer below
inline constexpr std::uint32_t kExponentBias = 127;
inline constexpr int kMantissaBits = 23;
/// 1/7! ... 1/2!, 1, 1
inline constexpr float kExpTerms[] = {
    1.0F / 5040, 1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F};

inline float exponential(float x) {
    // In this order, so that NaN stays: vector minimum and maximum give their second operand.
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

#include "stacking/llama/rotary.hpp"

#include <cmath>

namespace stacking::llama {
namespace {

constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
constexpr double kHalfPiHigh = 0x1.921fb54p+0;  // 27 bits: multiples up to 2^26 are exact
constexpr double kHalfPiLow = 0x1.10b4611a62633p-30;
constexpr int kSineTerms = 8;    // terms up to r^15; below pi / 4 the next term is below 2^-54
constexpr int kCosineTerms = 9;  // terms up to r^16

/// Computes 1 - r^2 / (first (first + 1)) (1 - r^2 / (...)) from the inside out.
double alternating_series(double square, int terms, int first) {
    double sum = 1;
    for (int term = terms - 1; term > 0; --term) {
        const int above = first + 2 * (term - 1);
        sum = 1 - square / (above * (above + 1)) * sum;
    }
    return sum;
}

}  // namespace

SineCosine sine_cosine(double angle) {
    const double quarters = std::floor(angle * kTwoOverPi + 0.5);
    const double rest = (angle - quarters * kHalfPiHigh) - quarters * kHalfPiLow;
    const double square = rest * rest;
    const double sine = rest * alternating_series(square, kSineTerms, 2);
    const double cosine = alternating_series(square, kCosineTerms, 1);
    switch (static_cast<std::int64_t>(quarters) & 3) {
        case 0:
            return {sine, cosine};
        case 1:
            return {cosine, -sine};
        case 2:
            return {-sine, -cosine};
        default:
            return {-cosine, sine};
    }
}

Rotary::Rotary(double base, std::size_t head_width) {
    for (std::size_t i = 0; i < head_width / 2; ++i) {
        const double power = 2 * static_cast<double>(i) / static_cast<double>(head_width);
        // The error of libm's pow is far smaller than the rounding that follows.
        frequencies_.push_back(static_cast<float>(1 / std::pow(base, power)));
    }
}

void Rotary::angles(std::uint32_t position, std::span<float> cosines, std::span<float> sines)
    const {
    for (std::size_t i = 0; i < frequencies_.size(); ++i) {
        const SineCosine both = sine_cosine(static_cast<float>(position) * frequencies_[i]);
        cosines[i] = static_cast<float>(both.cosine);
        sines[i] = static_cast<float>(both.sine);
    }
}

void Rotary::rotate(
    std::span<float> head, std::span<const float> cosines, std::span<const float> sines
) {
    const std::size_t half = head.size() / 2;
    for (std::size_t i = 0; i < half; ++i) {
        const float low = head[i];
        const float high = head[half + i];
        head[i] = low * cosines[i] - high * sines[i];
        head[half + i] = high * cosines[i] + low * sines[i];
    }
}

}  // namespace stacking::llama

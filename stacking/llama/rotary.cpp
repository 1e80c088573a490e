#include "stacking/llama/rotary.hpp"

#include <algorithm>
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

namespace {

using Kind = models::RopeScaling::Kind;

constexpr double kTwoPi = 6.283185307179586;

/// Llama 3 divides the frequencies of waves that are longer than its first texts, keeps those of
/// short waves, and goes from one to the other along the number of waves in such a text.
double llama3(double frequency, const models::RopeScaling& scaling) {
    const double waves = scaling.original_context * frequency / kTwoPi;
    if (waves < scaling.low_frequency_factor) {
        return frequency / scaling.factor;
    }
    if (waves > scaling.high_frequency_factor) {
        return frequency;
    }
    const double smooth = (waves - scaling.low_frequency_factor) /
                          (scaling.high_frequency_factor - scaling.low_frequency_factor);
    return (1 - smooth) * frequency / scaling.factor + smooth * frequency;
}

/// The part of pair `i` that YaRN divides, 0 to 1.
double yarn_ramp(std::size_t i, double base, std::size_t width, const models::RopeScaling& by) {
    const auto pair_of = [&](double rotations) {
        return static_cast<double>(width) * std::log(by.original_context / (rotations * kTwoPi)) /
               (2 * std::log(base));
    };
    double low = pair_of(by.beta_fast);
    double high = pair_of(by.beta_slow);
    if (by.truncate) {
        low = std::floor(low);
        high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, static_cast<double>(width - 1));
    constexpr double kNoSteeper = 0.001;
    const double length = high == low ? kNoSteeper : high - low;
    return std::clamp((static_cast<double>(i) - low) / length, 0.0, 1.0);
}

}  // namespace

Rotary::Rotary(double base, std::size_t width, const models::RopeScaling& scaling)
    : magnitude_(scaling.magnitude) {
    for (std::size_t i = 0; i < width / 2; ++i) {
        const double power = 2 * static_cast<double>(i) / static_cast<double>(width);
        // The error of libm's pow is far smaller than the rounding that follows.
        double frequency = 1 / std::pow(base, power);
        switch (scaling.kind) {
            case Kind::None:
                break;
            case Kind::Linear:
                frequency /= scaling.factor;
                break;
            case Kind::Llama3:
                frequency = llama3(frequency, scaling);
                break;
            case Kind::Yarn: {
                const double ramp = yarn_ramp(i, base, width, scaling);
                frequency *= ramp / scaling.factor + 1 - ramp;
                break;
            }
            case Kind::Divisors:
                frequency /= static_cast<double>(scaling.divisors[i]);
                break;
        }
        frequencies_.push_back(static_cast<float>(frequency));
    }
}

void Rotary::angles(std::uint32_t position, std::span<float> cosines, std::span<float> sines)
    const {
    for (std::size_t i = 0; i < frequencies_.size(); ++i) {
        const SineCosine both = sine_cosine(static_cast<float>(position) * frequencies_[i]);
        cosines[i] = static_cast<float>(both.cosine * magnitude_);
        sines[i] = static_cast<float>(both.sine * magnitude_);
    }
}

void Rotary::rotate(
    std::span<float> head, std::span<const float> cosines, std::span<const float> sines
) {
    const std::size_t half = cosines.size();
    for (std::size_t i = 0; i < half; ++i) {
        const float low = head[i];
        const float high = head[half + i];
        head[i] = low * cosines[i] - high * sines[i];
        head[half + i] = high * cosines[i] + low * sines[i];
    }
}

}  // namespace stacking::llama

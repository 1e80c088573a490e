#include "sim/scenario/distribution.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>
#include <bit>

namespace sim {

namespace {

constexpr int kLogBits = 40;
// The logarithm ln 2, as a fraction of 2^64.
constexpr std::uint64_t kLn2 = 0xb17217f7d1cf79ab;
constexpr double kDrawUnit = 1.0 / (1 << kDrawFractionBits);
constexpr std::uint64_t kLowHalf = 0xffffffff;

/// All 128 bits of a product; __int128 is not C++.
struct Product {
    std::uint64_t high;
    std::uint64_t low;
};

constexpr Product multiply(std::uint64_t a, std::uint64_t b) {
    const std::uint64_t low = (a & kLowHalf) * (b & kLowHalf);
    const std::uint64_t middle_a = (a >> 32) * (b & kLowHalf) + (low >> 32);
    const std::uint64_t middle_b = (a & kLowHalf) * (b >> 32) + (middle_a & kLowHalf);
    const std::uint64_t high = (a >> 32) * (b >> 32) + (middle_a >> 32) + (middle_b >> 32);
    return {high, (middle_b << 32) | (low & kLowHalf)};
}

static_assert(multiply(~0ULL, ~0ULL).high == ~0ULL - 1 && multiply(~0ULL, ~0ULL).low == 1);

/// Returns value x fraction / 2^bits, for 0 < bits < 64. REQUIRES: the result fits.
constexpr std::uint64_t scaled(std::uint64_t value, std::uint64_t fraction, int bits) {
    const Product product = multiply(value, fraction);
    return (product.high << (64 - bits)) | (product.low >> bits);
}

/// Returns -log2(u / 2^64) with kLogBits fractional bits; u > 0.
std::uint64_t minus_log2(std::uint64_t u) {
    const int zeros = std::countl_zero(u);
    std::uint64_t mantissa = u << zeros;  // in [1, 2), 63 fractional bits
    std::uint64_t log2 = 0;
    for (int bit = 0; bit < kLogBits; ++bit) {
        const Product square = multiply(mantissa, mantissa);  // in [1, 4), 126 fractional bits
        const bool at_least_two = square.high >> 63 != 0;
        mantissa = at_least_two ? square.high : (square.high << 1) | (square.low >> 63);
        log2 = (log2 << 1) | (at_least_two ? 1U : 0U);
    }
    return ((static_cast<std::uint64_t>(zeros) + 1) << kLogBits) - log2;
}

std::int64_t to_fixed(double value) {
    return static_cast<std::int64_t>(value * (1 << kDrawFractionBits));
}

double from_fixed(std::int64_t value) {
    return static_cast<double>(value) * kDrawUnit;
}

double uniform(std::uint64_t random, double low, double high) {
    const std::int64_t from = to_fixed(low);
    const auto span = static_cast<std::uint64_t>(to_fixed(high) - from);
    return from_fixed(from + static_cast<std::int64_t>(multiply(random, span).high));
}

std::uint64_t exponential_from(std::uint64_t random) {
    // 0 stands for 2^64, whose logarithm is that of u = 1.
    return random == 0 ? 0 : multiply(minus_log2(random), kLn2).high;
}

}  // namespace

std::uint64_t standard_exponential(swarm::Rng& rng) {
    return exponential_from(rng.next());
}

Duration exponential(swarm::Rng& rng, Duration mean) {
    SWARM_ASSERT(mean >= Duration{} && mean <= kDurationMax);
    const std::uint64_t drawn =
        scaled(static_cast<std::uint64_t>(mean.count()), standard_exponential(rng), kLogBits);
    return std::clamp(Duration(static_cast<std::int64_t>(drawn)), Duration(1), kDurationMax);
}

double sample(swarm::Rng& rng, const Draw& draw) {
    const std::uint64_t random = rng.next();
    switch (draw.kind) {
        case Draw::Kind::Constant:
            break;
        case Draw::Kind::Uniform:
            return uniform(random, draw.values[0], draw.values[1]);
        case Draw::Kind::Exponential: {
            const auto mean = static_cast<std::uint64_t>(to_fixed(draw.values[0]));
            const std::uint64_t drawn = scaled(mean, exponential_from(random), kLogBits);
            return from_fixed(static_cast<std::int64_t>(drawn));
        }
        case Draw::Kind::Choice:
            return draw.values[multiply(random, draw.values.size()).high];
    }
    return draw.values[0];
}

Duration to_duration(double seconds) {
    constexpr double kNanoseconds = 1e9;
    const double most = std::chrono::duration<double>(kDurationMax).count();
    const double bounded = std::clamp(seconds, 0.0, most);
    return Duration(static_cast<std::int64_t>(bounded * kNanoseconds));
}

std::uint32_t place_of(std::uint64_t key, std::uint32_t count) {
    SWARM_ASSERT(count >= 1);
    std::uint64_t place = 0;
    for (std::uint64_t next = 0; next < count;) {
        place = next;
        key = key * 2862933555777941757ULL + 1;
        next = ((place + 1) << 31) / ((key >> 33) + 1);
    }
    return static_cast<std::uint32_t>(place);
}

}  // namespace sim

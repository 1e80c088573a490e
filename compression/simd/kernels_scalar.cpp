// The reference: what the vector paths must equal, bit for bit.
#include "compression/simd/draw.hpp"
#include "compression/simd/group_scale.hpp"
#include "compression/simd/kernels.hpp"
#include "compression/simd/rounding.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace compression::simd {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers travel as they lie in memory");

std::uint32_t largest_magnitude(const float* values, std::size_t count) {
    std::int32_t largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
        largest = std::max(largest, static_cast<std::int32_t>(bits_of(values[i]) & kMagnitudeMask));
    }
    return static_cast<std::uint32_t>(largest);
}

template <std::uint16_t (*kConvert)(float)>
void encode_halves(const float* values, std::size_t count, std::byte* out) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint16_t half = kConvert(values[i]);
        std::memcpy(out + 2 * i, &half, sizeof half);
    }
}

template <float (*kConvert)(std::uint16_t)>
void decode_halves(const std::byte* bytes, std::size_t count, float* out) {
    for (std::size_t i = 0; i < count; ++i) {
        std::uint16_t half = 0;
        std::memcpy(&half, bytes + 2 * i, sizeof half);
        out[i] = kConvert(half);
    }
}

template <std::size_t kSize>
bool encode_int8(const float* values, std::size_t groups, std::byte* out) {
    for (; groups > 0; --groups, values += kSize, out += sizeof(float) + kSize) {
        const std::uint32_t largest = largest_magnitude(values, kSize);
        if (largest >= kInfinityBits) {
            return false;
        }
        const float scale = scale_of(kInt8Rule, std::bit_cast<float>(largest));
        const float inverse = inverse_of(scale);
        std::memcpy(out, &scale, sizeof scale);
        for (std::size_t i = 0; i < kSize; ++i) {
            out[sizeof scale + i] = static_cast<std::byte>(nearest_integer(values[i] * inverse));
        }
    }
    return true;
}

template <std::size_t kSize>
bool decode_int8(const std::byte* bytes, std::size_t groups, float* out) {
    for (; groups > 0; --groups, bytes += sizeof(float) + kSize, out += kSize) {
        std::uint32_t scale_bits = 0;
        std::memcpy(&scale_bits, bytes, sizeof scale_bits);
        bool well_formed = is_scale(scale_bits, kInt8Rule.unused_bits, kInt8Rule.max);
        for (std::size_t i = 0; i < kSize; ++i) {
            const auto level = static_cast<std::int8_t>(bytes[sizeof scale_bits + i]);
            well_formed &= level != -128;
            out[i] = static_cast<float>(level) * std::bit_cast<float>(scale_bits);
        }
        if (!well_formed) {
            return false;
        }
    }
    return true;
}

template <std::size_t kSize>
bool add_int8(const std::byte* bytes, std::size_t groups, float* sum) {
    for (; groups > 0; --groups, bytes += sizeof(float) + kSize, sum += kSize) {
        float values[kSize];
        if (!decode_int8<kSize>(bytes, 1, values)) {
            return false;
        }
        for (std::size_t i = 0; i < kSize; ++i) {
            sum[i] += values[i];
        }
    }
    return true;
}

/// Writes scale and levels of one group; levels[i] is in -7 to 7.
void write_int4(float scale, const std::int32_t* levels, std::byte* out) {
    const auto half = static_cast<std::uint16_t>(bits_of(scale) >> 16);
    std::memcpy(out, &half, sizeof half);
    for (std::size_t i = 0; i < kGroup / 2; ++i) {
        const std::int32_t pair = (levels[2 * i] & 0xf) | (levels[2 * i + 1] & 0xf) << 4;
        out[sizeof half + i] = static_cast<std::byte>(pair);
    }
}

bool encode_int4(const float* values, std::size_t groups, std::byte* out) {
    for (; groups > 0; --groups, values += kGroup, out += kInt4GroupBytes) {
        const std::uint32_t largest = largest_magnitude(values, kGroup);
        if (largest >= kInfinityBits) {
            return false;
        }
        const float scale = scale_of(kInt4Rule, std::bit_cast<float>(largest));
        const float inverse = inverse_of(scale);
        std::int32_t levels[kGroup];
        for (std::size_t i = 0; i < kGroup; ++i) {
            levels[i] = nearest_integer(values[i] * inverse);
        }
        write_int4(scale, levels, out);
    }
    return true;
}

bool encode_int4_stochastic(
    const float* values,
    std::size_t groups,
    std::uint64_t seed,
    std::uint64_t first_group,
    std::byte* out
) {
    for (std::size_t group = 0; group < groups; ++group) {
        const std::uint32_t largest = largest_magnitude(values, kGroup);
        if (largest >= kInfinityBits) {
            return false;
        }
        const float scale = scale_of(kInt4Rule, std::bit_cast<float>(largest));
        const float inverse = inverse_of(scale);
        const GroupKey key = group_key(seed, first_group + group);
        std::int32_t levels[kGroup];
        for (std::uint32_t i = 0; i < kGroup; ++i) {
            const std::int32_t fixed = nearest_integer(values[i] * inverse * kFractionOne);
            const auto chance = static_cast<std::int32_t>(draw(key, i) >> (32 - kFractionBits));
            // Beyond 7 scales lie only magnitudes that the largest scale does not cover.
            levels[i] = std::clamp((fixed + chance) >> kFractionBits, -7, 7);
        }
        write_int4(scale, levels, out);
        values += kGroup;
        out += kInt4GroupBytes;
    }
    return true;
}

bool decode_int4(const std::byte* bytes, std::size_t groups, float scale_max, float* out) {
    for (; groups > 0; --groups, bytes += kInt4GroupBytes, out += kGroup) {
        std::uint16_t half = 0;
        std::memcpy(&half, bytes, sizeof half);
        const std::uint32_t scale_bits = std::uint32_t{half} << 16;
        bool well_formed = is_scale(scale_bits, kInt4Rule.unused_bits, scale_max);
        for (std::size_t i = 0; i < kGroup; ++i) {
            const auto pair = static_cast<std::int32_t>(bytes[sizeof half + i / 2]);
            const std::int32_t level = (((pair >> (i % 2 * 4)) & 0xf) ^ 8) - 8;
            well_formed &= level != -8;
            out[i] = static_cast<float>(level) * std::bit_cast<float>(scale_bits);
        }
        if (!well_formed) {
            return false;
        }
    }
    return true;
}

void hadamard(const float* values, std::size_t groups, float* out) {
    for (; groups > 0; --groups, values += kGroup, out += kGroup) {
        float work[kGroup];
        std::copy_n(values, kGroup, work);
        for (std::size_t half = kGroup / 2; half > 0; half /= 2) {
            for (std::size_t i = 0; i < kGroup; ++i) {
                if ((i & half) == 0) {
                    const float upper = work[i];
                    const float lower = work[i + half];
                    work[i] = upper + lower;
                    work[i + half] = upper - lower;
                }
            }
        }
        for (std::size_t i = 0; i < kGroup; ++i) {
            out[i] = work[i] * 0.125F;  // 1 / sqrt(64)
        }
    }
}

}  // namespace

const Kernels& scalar_kernels() {
    static constexpr Kernels kernels{
        .path = Path::Scalar,
        .largest_magnitude = largest_magnitude,
        .encode_bf16 = encode_halves<to_bf16>,
        .decode_bf16 = decode_halves<from_bf16>,
        .encode_fp16 = encode_halves<to_fp16>,
        .decode_fp16 = decode_halves<from_fp16>,
        .encode_int8 = encode_int8<kGroup>,
        .decode_int8 = decode_int8<kGroup>,
        .add_int8 = add_int8<kGroup>,
        .encode_wide_int8 = encode_int8<kWideGroup>,
        .decode_wide_int8 = decode_int8<kWideGroup>,
        .add_wide_int8 = add_int8<kWideGroup>,
        .encode_int4 = encode_int4,
        .encode_int4_stochastic = encode_int4_stochastic,
        .decode_int4 = decode_int4,
        .hadamard = hadamard};
    return kernels;
}

}  // namespace compression::simd

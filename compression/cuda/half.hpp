// bf16 and fp16 by lanes: a lane turns four values into 8 bytes, and back; lanes exchange nothing.
// Shapes: lane i of group g reads 16 bytes at 256 g + 16 i, writes 8 at 128 g + 8 i.
// NaN and infinity are refused in both directions.
// Reference: compression/half.cpp over encode_halves and decode_halves in simd/kernels_scalar.cpp.
#pragma once

#include "compression/cuda/lanes.hpp"
#include "compression/simd/rounding.hpp"

namespace compression::cuda {

inline constexpr std::uint32_t kHalfBytes = 2;

SWARM_LANES bool is_finite(float value) {
    return (simd::bits_of(value) & simd::kMagnitudeMask) < simd::kInfinityBits;
}

template <class Team>
SWARM_LANES void encode_half(const Team& team, const Job& job, std::uint64_t group) {
    team.each([&](std::uint32_t lane) {
        const Place place = place_of(job, group, lane);
        const Four values = load_values(job, place);
        std::uint64_t coded = 0;
        bool finite = true;
        for (std::uint32_t i = 0; i < kPerLane; ++i) {
            finite &= is_finite(values.at[i]);
            const std::uint16_t half = job.format == Format::Bf16 ? simd::to_bf16(values.at[i])
                                                                  : simd::to_fp16(values.at[i]);
            coded |= std::uint64_t{half} << (16 * i);
        }
        store_bytes(job.bytes + kHalfBytes * place.first, coded, kHalfBytes * place.count);
        if (!finite) {
            team.refuse();
        }
    });
}

template <class Team>
SWARM_LANES void decode_half(const Team& team, const Job& job, std::uint64_t group) {
    team.each([&](std::uint32_t lane) {
        const Place place = place_of(job, group, lane);
        const auto coded = load_bytes<std::uint64_t>(
            job.bytes + kHalfBytes * place.first, kHalfBytes * place.count
        );
        Four values{};
        bool finite = true;
        for (std::uint32_t i = 0; i < kPerLane; ++i) {
            const auto half = static_cast<std::uint16_t>(coded >> (16 * i));
            values.at[i] =
                job.format == Format::Bf16 ? simd::from_bf16(half) : simd::from_fp16(half);
            finite &= is_finite(values.at[i]);
        }
        if (!finite) {
            team.refuse();
        }
        store_values(job, place, values);
    });
}

}  // namespace compression::cuda

// int8 by lanes: the lanes exchange the largest magnitude of the group; each lane computes the
// scale from it (two divisions, cheaper than one more exchange) and codes its four values.
// Shapes: lane i of group g reads 16 bytes at 256 g + 16 i, writes 4 at 68 g + 4 + 4 i; lane 0
// writes the scale at 68 g. Refused: NaN, infinity; a scale or level that no encoder writes.
// Reference: compression/int8.cpp over encode_int8 and decode_int8 in simd/kernels_scalar.cpp.
#pragma once

#include "compression/cuda/lanes.hpp"
#include "compression/simd/rounding.hpp"

namespace compression::cuda {

inline constexpr std::uint32_t kInt8ScaleBytes = 4;
inline constexpr std::uint32_t kInt8GroupBytes = kInt8ScaleBytes + kGroup;

SWARM_LANES std::uint32_t largest_magnitude(const Four& values) {
    std::uint32_t largest = 0;
    for (std::uint32_t i = 0; i < kPerLane; ++i) {
        const std::uint32_t magnitude = simd::bits_of(values.at[i]) & simd::kMagnitudeMask;
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest;
}

template <class Team>
SWARM_LANES void encode_int8(const Team& team, const Job& job, std::uint64_t group) {
    typename Team::template Own<Four> values;
    typename Team::template Own<std::uint32_t> largest;
    team.each([&](std::uint32_t lane) {
        values[lane] = load_values(job, place_of(job, group, lane));
        largest[lane] = largest_magnitude(values[lane]);
    });
    team.spread_largest(largest);
    team.each([&](std::uint32_t lane) {
        if (largest[lane] >= simd::kInfinityBits) {
            team.refuse();
            return;
        }
        const float scale = simd::scale_of(simd::kInt8Rule, std::bit_cast<float>(largest[lane]));
        const float inverse = simd::inverse_of(scale);
        std::uint32_t coded = 0;
        for (std::uint32_t i = 0; i < kPerLane; ++i) {
            const std::int32_t level = simd::nearest_integer(values[lane].at[i] * inverse);
            coded |= (static_cast<std::uint32_t>(level) & 0xff) << (8 * i);
        }
        std::byte* const out = job.bytes + group * kInt8GroupBytes;
        if (lane == 0) {
            store_bytes(out, simd::bits_of(scale));
        }
        const std::uint32_t count = place_of(job, group, lane).count;
        store_bytes(out + kInt8ScaleBytes + lane * kPerLane, coded, count);
    });
}

template <class Team>
SWARM_LANES void decode_int8(const Team& team, const Job& job, std::uint64_t group) {
    team.each([&](std::uint32_t lane) {
        const Place place = place_of(job, group, lane);
        const std::byte* const from = job.bytes + group * kInt8GroupBytes;
        const auto scale = load_bytes<std::uint32_t>(from);
        const auto coded =
            load_bytes<std::uint32_t>(from + kInt8ScaleBytes + lane * kPerLane, place.count);
        bool well_formed = simd::is_scale(scale, simd::kInt8Rule.unused_bits, simd::kInt8Rule.max);
        Four values{};
        for (std::uint32_t i = 0; i < kPerLane; ++i) {
            const auto level = static_cast<std::int8_t>(coded >> (8 * i));
            well_formed &= level != -128;
            values.at[i] = static_cast<float>(level) * std::bit_cast<float>(scale);
        }
        if (!well_formed) {
            team.refuse();
        }
        store_values(job, place, values);
    });
}

}  // namespace compression::cuda

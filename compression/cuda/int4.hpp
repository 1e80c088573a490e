// int4 by lanes, rounded to nearest or by draws: the same scheme as int8, with two bytes per lane.
// Shapes: lane i of group g reads 16 bytes at 256 g + 16 i, writes 2 at 34 g + 2 + 2 i; lane 0
// writes the scale at 34 g. A draw is a function of (seed, group, place): each lane draws for its
// own four values.
// Refused: NaN, infinity; a scale, level or nibble behind the last value that no encoder writes.
// Reference: compression/int4.cpp over encode_int4, encode_int4_stochastic and decode_int4 in
// simd/kernels_scalar.cpp.
#pragma once

#include "compression/cuda/int8.hpp"
#include "compression/simd/draw.hpp"

namespace compression::cuda {

inline constexpr std::uint32_t kInt4ScaleBytes = 2;
inline constexpr std::uint32_t kInt4GroupBytes = kInt4ScaleBytes + kGroup / 2;

/// Rounds x / scale up or down, by the draw of (seed, group, place).
SWARM_LANES std::int32_t drawn_level(float steps, simd::GroupKey key, std::uint32_t place) {
    const std::int32_t fixed = simd::nearest_integer(steps * simd::kFractionOne);
    const auto chance =
        static_cast<std::int32_t>(simd::draw(key, place) >> (32 - simd::kFractionBits));
    return std::clamp((fixed + chance) >> simd::kFractionBits, -7, 7);
}

/// Writes the scale and the first `count` levels of each lane.
template <class Team, class Count>
SWARM_LANES void encode_levels(
    const Team& team,
    const Job& job,
    std::uint64_t group,
    typename Team::template Own<Four>& values,
    const Count& count_of
) {
    typename Team::template Own<std::uint32_t> largest;
    team.each([&](std::uint32_t lane) { largest[lane] = largest_magnitude(values[lane]); });
    team.spread_largest(largest);
    team.each([&](std::uint32_t lane) {
        if (largest[lane] >= simd::kInfinityBits) {
            team.refuse();
            return;
        }
        const float scale = simd::scale_of(simd::kInt4Rule, std::bit_cast<float>(largest[lane]));
        const float inverse = simd::inverse_of(scale);
        const simd::GroupKey key =
            job.drawn ? simd::group_key(job.seed, group) : simd::GroupKey{0, 0};
        std::uint32_t coded = 0;
        for (std::uint32_t i = 0; i < kPerLane; ++i) {
            const float steps = values[lane].at[i] * inverse;
            const std::int32_t level = job.drawn ? drawn_level(steps, key, lane * kPerLane + i)
                                                 : simd::nearest_integer(steps);
            coded |= (static_cast<std::uint32_t>(level) & 0xf) << (4 * i);
        }
        std::byte* const out = job.bytes + group * kInt4GroupBytes;
        if (lane == 0) {
            store_bytes(out, static_cast<std::uint16_t>(simd::bits_of(scale) >> 16));
        }
        const std::uint32_t count = count_of(lane);
        const auto word = static_cast<std::uint16_t>(coded);
        store_bytes(out + kInt4ScaleBytes + lane * kPerLane / 2, word, (count + 1) / 2);
    });
}

/// The lane's four values; those behind the first `count` must be 0.
template <class Team>
SWARM_LANES Four decode_levels(
    const Team& team,
    const Job& job,
    std::uint64_t group,
    std::uint32_t lane,
    std::uint32_t count,
    float scale_max
) {
    const std::byte* const from = job.bytes + group * kInt4GroupBytes;
    const std::uint32_t scale = std::uint32_t{load_bytes<std::uint16_t>(from)} << 16;
    const std::uint32_t coded =
        load_bytes<std::uint16_t>(from + kInt4ScaleBytes + lane * kPerLane / 2, (count + 1) / 2);
    bool well_formed = simd::is_scale(scale, simd::kInt4Rule.unused_bits, scale_max) &&
                       (count == kPerLane || coded >> (4 * count) == 0);
    Four values{};
    for (std::uint32_t i = 0; i < kPerLane; ++i) {
        const auto nibble = static_cast<std::int32_t>((coded >> (4 * i)) & 0xf);
        const std::int32_t level = (nibble ^ 8) - 8;
        well_formed &= level != -8;
        values.at[i] = static_cast<float>(level) * std::bit_cast<float>(scale);
    }
    if (!well_formed) {
        team.refuse();
    }
    return values;
}

template <class Team>
SWARM_LANES void encode_int4(const Team& team, const Job& job, std::uint64_t group) {
    typename Team::template Own<Four> values;
    team.each([&](std::uint32_t lane) {
        values[lane] = load_values(job, place_of(job, group, lane));
    });
    encode_levels(team, job, group, values, [&](std::uint32_t lane) {
        return place_of(job, group, lane).count;
    });
}

template <class Team>
SWARM_LANES void decode_int4(const Team& team, const Job& job, std::uint64_t group) {
    team.each([&](std::uint32_t lane) {
        const Place place = place_of(job, group, lane);
        const float scale_max = simd::kInt4Rule.max;
        store_values(job, place, decode_levels(team, job, group, lane, place.count, scale_max));
    });
}

}  // namespace compression::cuda

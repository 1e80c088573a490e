// hadamard-int4 by lanes: six rounds of sums and differences turn a group into its coefficients,
// four of them between lanes (32, 16, 8 and 4 values apart), two within a lane; then int4 follows.
// Shapes: the same as int4's; the last group is filled with zeros and coded whole.
// Refused: the same as int4's, and magnitudes above kHadamardMax.
// Reference: compression/int4.cpp over hadamard in simd/kernels_scalar.cpp; this file repeats its
// order of rounds and operands.
#pragma once

#include "compression/cuda/int4.hpp"

namespace compression::cuda {

/// One round within a lane: values `half` places apart, 1 or 2.
SWARM_LANES void butterfly(Four& work, std::uint32_t half) {
    for (std::uint32_t i = 0; i < kPerLane; ++i) {
        if ((i & half) == 0) {
            const float upper = work.at[i];
            const float lower = work.at[i + half];
            work.at[i] = upper + lower;
            work.at[i + half] = upper - lower;
        }
    }
}

template <class Team>
SWARM_LANES void hadamard(const Team& team, typename Team::template Own<Four>& work) {
    for (std::uint32_t mask = kLanes / 2; mask > 0; mask /= 2) {
        auto partner = team.of_partner(work, mask);
        team.each([&](std::uint32_t lane) {
            for (std::uint32_t i = 0; i < kPerLane; ++i) {
                const float own = work[lane].at[i];
                const float other = partner[lane].at[i];
                work[lane].at[i] = (lane & mask) == 0 ? own + other : other - own;
            }
        });
    }
    team.each([&](std::uint32_t lane) {
        butterfly(work[lane], 2);
        butterfly(work[lane], 1);
        for (float& value : work[lane].at) {
            value *= 0.125F;  // 1 / sqrt(64)
        }
    });
}

template <class Team>
SWARM_LANES void encode_hadamard_int4(const Team& team, const Job& job, std::uint64_t group) {
    typename Team::template Own<Four> values;
    team.each([&](std::uint32_t lane) {
        values[lane] = load_values(job, place_of(job, group, lane));
        if (largest_magnitude(values[lane]) > simd::bits_of(simd::kHadamardMax)) {
            team.refuse();
        }
    });
    hadamard(team, values);
    encode_levels(team, job, group, values, [](std::uint32_t /*lane*/) { return kPerLane; });
}

template <class Team>
SWARM_LANES void decode_hadamard_int4(const Team& team, const Job& job, std::uint64_t group) {
    typename Team::template Own<Four> values;
    team.each([&](std::uint32_t lane) {
        const float scale_max = simd::kHadamardScaleMax;
        values[lane] = decode_levels(team, job, group, lane, kPerLane, scale_max);
    });
    hadamard(team, values);
    team.each([&](std::uint32_t lane) {
        store_values(job, place_of(job, group, lane), values[lane]);
    });
}

}  // namespace compression::cuda

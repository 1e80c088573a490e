// Random blocks of quantised weights for tests, the same on every machine. All bits are random but
// those of the fp16 numbers, which make weights of at most `largest`.
#pragma once

#include "stacking/blocks/coding.hpp"
#include "swarm/base/rng.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

namespace stacking::blocks::test {

inline constexpr WeightType kQuantisedTypes[] = {
    WeightType::Q4_0,
    WeightType::Q4_1,
    WeightType::Q5_0,
    WeightType::Q5_1,
    WeightType::Q8_0,
    WeightType::Q2_K,
    WeightType::Q3_K,
    WeightType::Q4_K,
    WeightType::Q5_K,
    WeightType::Q6_K,
    WeightType::IQ4_NL,
    WeightType::IQ4_XS};

/// Offsets of the fp16 numbers in a block.
inline std::vector<std::size_t> halves_of(WeightType type) {
    switch (type) {
        case WeightType::Q2_K:
            return {80, 82};
        case WeightType::Q3_K:
            return {108};
        case WeightType::Q6_K:
            return {208};
        default:
            return coding_of(type).minimum == Minimum::None ? std::vector<std::size_t>{0}
                                                            : std::vector<std::size_t>{0, 2};
    }
}

/// Returns the largest fp16 number up to `value`, which is not negative.
inline std::uint16_t to_half(float value) {
    std::uint16_t low = 0;
    for (std::uint16_t step = 0x4000; step > 0; step = static_cast<std::uint16_t>(step / 2)) {
        const auto next = static_cast<std::uint16_t>(low + step);
        low = from_half(next) <= value ? next : low;
    }
    return low;
}

/// Returns the largest absolute value of scale x factor x level for a scale of 1.
inline float reach_of(WeightType type) {
    const Coding coding = coding_of(type);
    const float level =
        coding.table || coding.bits == 8
            ? 128
            : static_cast<float>((1U << coding.bits) - static_cast<unsigned>(coding.offset));
    const float factor = type == WeightType::Q6_K            ? 128
                         : coding.factors == Factors::None   ? 1
                         : coding.factors == Factors::Paired ? 15
                                                             : 63;
    return level * factor;
}

inline std::vector<std::byte> random_blocks(
    WeightType type, std::size_t count, std::uint64_t seed, float largest = 0.25F
) {
    const std::size_t size = block_size(type).bytes;
    swarm::Rng rng(seed, static_cast<std::uint64_t>(type));
    std::vector<std::byte> bytes(count * size);
    for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(rng.next() & 0xffU);
    }
    for (std::size_t block = 0; block < count; ++block) {
        float reach = reach_of(type);
        for (const std::size_t at : halves_of(type)) {
            const auto value = largest / reach * static_cast<float>(0.5 + rng.unit() / 2);
            const auto sign = static_cast<std::uint16_t>(rng.below(2) << 15U);
            const auto half = static_cast<std::uint16_t>(to_half(value) | sign);
            std::memcpy(bytes.data() + block * size + at, &half, sizeof half);
            reach = coding_of(type).minimum == Minimum::Added ? 1 : 63;  // the minimum is next
        }
    }
    return bytes;
}

}  // namespace stacking::blocks::test

// The differences between the quantised types, as data for the loops that decode them.
//   level = code - offset, or a table's entry;  a = scale x factor of the group, or scale alone
//   value = a x level;  + minimum (of the block), or - minimum x factor of the group
// Invariant: a x level is exact in fp32. Threading: constants. Errors: none.
#pragma once

#include "stacking/blocks/weight_type.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace stacking::blocks {

inline constexpr std::size_t kBlockValuesMax = 256;
inline constexpr std::size_t kGroupsMax = 16;

enum class Factors : std::uint8_t {
    None,    // the block is one group
    Signed,  // one int8 per group
    Paired,  // a scale's factor and a minimum's per group, 4 bits each
    Wide     // the same, 6 bits each
};

enum class Minimum : std::uint8_t { None, Added, Scaled };

struct Coding {
    std::size_t values = 0;  // per block; 0: no quantised type
    std::size_t group = 0;   // values that have a scale in common
    std::size_t bits = 0;    // per code
    int offset = 0;
    bool table = false;  // levels are those of kIq4Levels
    Factors factors = Factors::None;
    Minimum minimum = Minimum::None;
};

constexpr Coding coding_of(WeightType type) {
    switch (type) {
        case WeightType::Q4_0:
            return {32, 32, 4, 8, false, Factors::None, Minimum::None};
        case WeightType::Q4_1:
            return {32, 32, 4, 0, false, Factors::None, Minimum::Added};
        case WeightType::Q5_0:
            return {32, 32, 5, 16, false, Factors::None, Minimum::None};
        case WeightType::Q5_1:
            return {32, 32, 5, 0, false, Factors::None, Minimum::Added};
        case WeightType::Q8_0:
            return {32, 32, 8, 0, false, Factors::None, Minimum::None};
        case WeightType::Q2_K:
            return {256, 16, 2, 0, false, Factors::Paired, Minimum::Scaled};
        case WeightType::Q3_K:
            return {256, 16, 3, 4, false, Factors::Signed, Minimum::None};
        case WeightType::Q4_K:
            return {256, 32, 4, 0, false, Factors::Wide, Minimum::Scaled};
        case WeightType::Q5_K:
            return {256, 32, 5, 0, false, Factors::Wide, Minimum::Scaled};
        case WeightType::Q6_K:
            return {256, 16, 6, 32, false, Factors::Signed, Minimum::None};
        case WeightType::IQ4_NL:
            return {32, 32, 4, 0, true, Factors::None, Minimum::None};
        case WeightType::IQ4_XS:
            return {256, 32, 4, 0, true, Factors::Signed, Minimum::None};
        case WeightType::F32:
        case WeightType::F16:
        case WeightType::BF16:
        case WeightType::F8_E4M3:
            break;
    }
    return {};
}

constexpr bool is_quantised(WeightType type) {
    return coding_of(type).values > 0;
}

/// Levels of IQ4_NL and IQ4_XS; they lie closer to each other around 0.
inline constexpr std::array<std::int8_t, 16> kIq4Levels = {
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/// One block, taken apart.
struct Block {
    std::uint16_t scale = 0;                            // fp16
    std::uint16_t minimum = 0;                          // fp16
    std::array<std::int8_t, kGroupsMax> factors{};      // scales' factors, by group
    std::array<std::uint8_t, kGroupsMax> minimums{};    // minimums' factors, by group
    std::array<std::uint8_t, kBlockValuesMax> codes{};  // those of 8 bits are int8
};

/// Sets what the type has: codes of coding.values, and factors if there are any.
/// REQUIRES: is_quantised(type), and `bytes` has a whole block.
void take_apart(WeightType type, const std::byte* bytes, Block& block);

constexpr int level_of(const Coding& coding, std::uint8_t code) {
    if (coding.table) {
        return kIq4Levels[code];
    }
    return coding.bits == 8 ? static_cast<std::int8_t>(code) : code - coding.offset;
}

/// Scale and minimum of a group in fp32, both exact: value = scale x level + minimum.
struct GroupScale {
    float scale = 0;
    float minimum = 0;
};

GroupScale scale_of(const Coding& coding, const Block& block, std::size_t group);

/// `values`: room for coding.values.
void decode_block(const Coding& coding, const Block& block, std::span<float> values);

/// Whether all values of a block are numbers: whether its fp16 numbers are.
bool is_finite(const Block& block);

/// fp16 to fp32, exact.
float from_half(std::uint16_t half);

/// F8_E4M3 to fp32, exact.
float from_e4m3(std::uint8_t byte);

}  // namespace stacking::blocks

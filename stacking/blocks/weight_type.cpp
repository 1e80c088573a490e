#include "stacking/blocks/weight_type.hpp"

#include "stacking/blocks/block_readers.hpp"
#include "swarm/base/check.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace stacking::blocks {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

namespace {

struct Row {
    std::string_view name;
    BlockSize block;
};

constexpr std::array<Row, kWeightTypes> kTable = {{
    {"F32", {1, 4}},
    {"F16", {1, 2}},
    {"BF16", {1, 2}},
    {"Q4_1", {32, 20}},
    {"Q8_0", {32, 34}},
    {"Q4_0", {32, 18}},
    {"Q5_0", {32, 22}},
    {"Q5_1", {32, 24}},
    {"Q2_K", {256, 84}},
    {"Q3_K", {256, 110}},
    {"Q4_K", {256, 144}},
    {"Q5_K", {256, 176}},
    {"Q6_K", {256, 210}},
    {"IQ4_NL", {32, 18}},
    {"IQ4_XS", {256, 136}},
    {"F8_E4M3", {1, 1}},
}};

/// Sets each value to that of its number in `bytes`.
template <class Number, class Decode>
void decode_each(std::span<const std::byte> bytes, std::span<float> values, const Decode& decode) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = decode(load<Number>(bytes.data() + i * sizeof(Number)));
    }
}

}  // namespace

/// A byte of sign, 4 bits of exponent and 3 of mantissa; it has NaN (all ones) and no infinity.
float from_e4m3(std::uint8_t byte) {
    constexpr std::uint32_t kNan = 0x7f;
    constexpr float kRebias = 0x1p+120F;  // between the biases 127 and 7
    const std::uint32_t magnitude = byte & 0x7fU;
    const std::uint32_t sign = (byte & 0x80U) << 24U;
    // The magnitude is that of a small fp32 number, which may be subnormal; the product is exact.
    const float value = magnitude == kNan ? std::bit_cast<float>(0x7fc00000U)
                                          : std::bit_cast<float>(magnitude << 20U) * kRebias;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
}

float from_half(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000U) << 16U;
    const std::uint32_t exponent = (half >> 10U) & 0x1fU;
    const std::uint32_t mantissa = half & 0x3ffU;
    if (exponent == 0) {  // zero and subnormals: mantissa x 2^-24, exact
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
    }
    const std::uint32_t wide = exponent == 0x1fU ? 0xffU : exponent + 112;
    return std::bit_cast<float>(sign | (wide << 23U) | (mantissa << 13U));
}

void take_apart(WeightType type, const std::byte* bytes, Block& block) {
    block.minimum = 0;
    switch (type) {
        case WeightType::Q4_0:
        case WeightType::IQ4_NL:
            return read_q4_0(bytes, block);
        case WeightType::Q4_1:
            return read_q4_1(bytes, block);
        case WeightType::Q5_0:
            return read_q5_0(bytes, block);
        case WeightType::Q5_1:
            return read_q5_1(bytes, block);
        case WeightType::Q8_0:
            return read_q8_0(bytes, block);
        case WeightType::Q2_K:
            return read_q2_k(bytes, block);
        case WeightType::Q3_K:
            return read_q3_k(bytes, block);
        case WeightType::Q4_K:
            return read_q4_k(bytes, block);
        case WeightType::Q5_K:
            return read_q5_k(bytes, block);
        case WeightType::Q6_K:
            return read_q6_k(bytes, block);
        case WeightType::IQ4_XS:
            return read_iq4_xs(bytes, block);
        case WeightType::F32:
        case WeightType::F16:
        case WeightType::BF16:
        case WeightType::F8_E4M3:
            break;
    }
    SWARM_ASSERT(is_quantised(type));
}

GroupScale scale_of(const Coding& coding, const Block& block, std::size_t group) {
    const float scale = from_half(block.scale);
    const float minimum = from_half(block.minimum);
    GroupScale result;
    result.scale =
        coding.factors == Factors::None ? scale : scale * static_cast<float>(block.factors[group]);
    if (coding.minimum == Minimum::Added) {
        result.minimum = minimum;
    } else if (coding.minimum == Minimum::Scaled) {
        result.minimum = -(minimum * static_cast<float>(block.minimums[group]));
    }
    return result;
}

void decode_block(const Coding& coding, const Block& block, std::span<float> values) {
    for (std::size_t group = 0; group < coding.values / coding.group; ++group) {
        const GroupScale by = scale_of(coding, block, group);
        for (std::size_t i = group * coding.group; i < (group + 1) * coding.group; ++i) {
            const float scaled = by.scale * static_cast<float>(level_of(coding, block.codes[i]));
            values[i] = coding.minimum == Minimum::None ? scaled : scaled + by.minimum;
        }
    }
}

bool is_finite(const Block& block) {
    constexpr std::uint16_t kExponent = 0x7c00;
    return (block.scale & kExponent) != kExponent && (block.minimum & kExponent) != kExponent;
}

std::string_view name_of(WeightType type) {
    return kTable[static_cast<std::size_t>(type)].name;
}

std::optional<WeightType> parse_weight_type(std::string_view name) {
    const auto* const found = std::find_if(kTable.begin(), kTable.end(), [name](const Row& row) {
        return row.name == name;
    });
    if (found == kTable.end()) {
        return std::nullopt;
    }
    return static_cast<WeightType>(found - kTable.begin());
}

BlockSize block_size(WeightType type) {
    return kTable[static_cast<std::size_t>(type)].block;
}

void decode_weights(WeightType type, std::span<const std::byte> bytes, std::span<float> values) {
    const BlockSize block = block_size(type);
    const std::size_t blocks = values.size() / block.values;
    SWARM_ASSERT(values.size() % block.values == 0 && bytes.size() == blocks * block.bytes);
    if (is_quantised(type)) {
        Block taken;
        for (std::size_t i = 0; i < blocks; ++i) {
            take_apart(type, bytes.data() + i * block.bytes, taken);
            decode_block(coding_of(type), taken, values.subspan(i * block.values, block.values));
        }
        return;
    }
    switch (type) {
        case WeightType::F32:
            return decode_each<float>(bytes, values, [](float value) { return value; });
        case WeightType::F16:
            return decode_each<std::uint16_t>(bytes, values, from_half);
        case WeightType::BF16:
            return decode_each<std::uint16_t>(bytes, values, [](std::uint16_t half) {
                return std::bit_cast<float>(std::uint32_t{half} << 16U);
            });
        default:
            return decode_each<std::uint8_t>(bytes, values, from_e4m3);
    }
}

}  // namespace stacking::blocks

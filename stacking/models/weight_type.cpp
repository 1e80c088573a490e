#include "stacking/models/weight_type.hpp"

#include "swarm/base/check.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace stacking::models {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

namespace {

constexpr std::uint32_t kQuantised = 32;  // values of a quantised block
constexpr std::size_t kHalfBytes = sizeof(std::uint16_t);

struct Row {
    std::string_view name;
    BlockSize block;
};

constexpr std::array<Row, kWeightTypes> kTable = {{
    {"F32", {1, 4}},
    {"F16", {1, 2}},
    {"BF16", {1, 2}},
    {"Q4_1", {kQuantised, 20}},
    {"Q8_0", {kQuantised, 34}},
}};

template <class T>
T load(const std::byte* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    return value;
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

void decode_q8_0(const std::byte* block, float* values) {
    const float scale = from_half(load<std::uint16_t>(block));
    for (std::uint32_t i = 0; i < kQuantised; ++i) {
        values[i] = scale * static_cast<float>(load<std::int8_t>(block + kHalfBytes + i));
    }
}

void decode_q4_1(const std::byte* block, float* values) {
    const float scale = from_half(load<std::uint16_t>(block));
    const float minimum = from_half(load<std::uint16_t>(block + kHalfBytes));
    for (std::uint32_t i = 0; i < kQuantised / 2; ++i) {
        const auto pair = std::to_integer<std::uint32_t>(block[2 * kHalfBytes + i]);
        values[i] = scale * static_cast<float>(pair & 15U) + minimum;
        values[i + kQuantised / 2] = scale * static_cast<float>(pair >> 4U) + minimum;
    }
}

}  // namespace

std::string_view name_of(WeightType type) {
    return kTable[static_cast<std::size_t>(type)].name;
}

BlockSize block_size(WeightType type) {
    return kTable[static_cast<std::size_t>(type)].block;
}

void decode_weights(WeightType type, std::span<const std::byte> bytes, std::span<float> values) {
    const BlockSize block = block_size(type);
    const std::size_t blocks = values.size() / block.values;
    SWARM_ASSERT(values.size() % block.values == 0 && bytes.size() == blocks * block.bytes);
    for (std::size_t i = 0; i < blocks; ++i) {
        const std::byte* const from = bytes.data() + i * block.bytes;
        float* const to = values.data() + i * block.values;
        switch (type) {
            case WeightType::F32:
                *to = load<float>(from);
                break;
            case WeightType::F16:
                *to = from_half(load<std::uint16_t>(from));
                break;
            case WeightType::BF16:
                *to = std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(from)} << 16U);
                break;
            case WeightType::Q4_1:
                decode_q4_1(from, to);
                break;
            case WeightType::Q8_0:
                decode_q8_0(from, to);
                break;
        }
    }
}

}  // namespace stacking::models

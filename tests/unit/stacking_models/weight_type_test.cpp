#include "stacking/models/weight_type.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace stacking::models {
namespace {

float half(std::uint16_t bits) {
    float value = 0;
    decode_weights(WeightType::F16, std::as_bytes(std::span(&bits, 1)), std::span(&value, 1));
    return value;
}

TEST(WeightType, HalfPrecisionHasItsSpecialValues) {
    EXPECT_EQ(half(0x3c00), 1.0F);
    EXPECT_EQ(half(0xc000), -2.0F);
    EXPECT_EQ(half(0x7bff), 65504.0F);
    EXPECT_EQ(half(0x0001), 0x1p-24F);  // the smallest subnormal
    EXPECT_EQ(half(0x03ff), 1023 * 0x1p-24F);
    EXPECT_EQ(half(0x0400), 0x1p-14F);  // the smallest normal
    EXPECT_TRUE(std::signbit(half(0x8000)) && half(0x8000) == 0.0F);
    EXPECT_EQ(half(0xfc00), -std::numeric_limits<float>::infinity());
    EXPECT_TRUE(std::isnan(half(0x7e00)));
}

TEST(WeightType, HalfPrecisionGrowsWithItsBits) {
    for (std::uint32_t bits = 1; bits < 0x7c00; ++bits) {
        ASSERT_LT(
            half(static_cast<std::uint16_t>(bits - 1)), half(static_cast<std::uint16_t>(bits))
        ) << bits;
    }
}

TEST(WeightType, Bf16IsTheUpperHalfOfAFloat) {
    const std::uint16_t bits = 0xc049;
    float value = 0;
    decode_weights(WeightType::BF16, std::as_bytes(std::span(&bits, 1)), std::span(&value, 1));
    EXPECT_EQ(std::bit_cast<std::uint32_t>(value), 0xc0490000U);
}

TEST(WeightType, Q80IsScaleTimesByte) {
    std::vector<std::byte> blocks(2 * 34);
    const std::uint16_t scale = 0x3800;  // 0.5
    std::memcpy(blocks.data() + 34, &scale, 2);
    blocks[34 + 2] = std::byte{0x80};       // -128
    blocks[34 + 2 + 31] = std::byte{0x7f};  // 127
    std::vector<float> values(64, 9);
    decode_weights(WeightType::Q8_0, blocks, values);
    EXPECT_EQ(values[0], 0);
    EXPECT_EQ(values[32], -64);
    EXPECT_EQ(values[33], 0);
    EXPECT_EQ(values[63], 63.5);
}

TEST(WeightType, Q41HasTheFirstHalfInTheLowNibbles) {
    std::vector<std::byte> block(20);
    const std::uint16_t scale_and_minimum[] = {0x4000, 0xbc00};  // 2, -1
    std::memcpy(block.data(), scale_and_minimum, 4);
    block[4] = std::byte{0xf1};
    block[4 + 15] = std::byte{0x2e};
    std::vector<float> values(32);
    decode_weights(WeightType::Q4_1, block, values);
    EXPECT_EQ(values[0], 2 * 1 - 1);
    EXPECT_EQ(values[16], 2 * 15 - 1);
    EXPECT_EQ(values[15], 2 * 14 - 1);
    EXPECT_EQ(values[31], 2 * 2 - 1);
    EXPECT_EQ(values[1], -1);
}

}  // namespace
}  // namespace stacking::models

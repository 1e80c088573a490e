#include "compression/half.hpp"

#include <gtest/gtest.h>

#include <cfloat>
#include <cstring>
#include <vector>

namespace compression {
namespace {

std::uint16_t coded(std::string_view codec, float value) {
    std::uint16_t half = 0;
    const auto bytes = std::as_writable_bytes(std::span(&half, 1));
    EXPECT_TRUE(find_codec(codec)->encode({&value, 1}, TensorRole::Activation, 0, bytes).has_value()
    );
    return half;
}

float decoded(std::string_view codec, std::uint16_t half) {
    float value = 0;
    const auto bytes = std::as_bytes(std::span(&half, 1));
    EXPECT_TRUE(find_codec(codec)->decode(bytes, {&value, 1}).has_value()) << half;
    return value;
}

TEST(HalfCodec, WritesTheNumbersOfTheFormats) {
    EXPECT_EQ(coded("bf16", 1.0F), 0x3f80);
    EXPECT_EQ(coded("bf16", -2.5F), 0xc020);
    EXPECT_EQ(coded("fp16", 1.0F), 0x3c00);
    EXPECT_EQ(coded("fp16", -2.5F), 0xc100);
    EXPECT_EQ(coded("fp16", 0x1p-24F), 0x0001);
    EXPECT_EQ(coded("fp16", 0x1p-14F), 0x0400);
}

TEST(HalfCodec, RoundsTiesToEven) {
    EXPECT_EQ(coded("bf16", 1.0F + 0x1p-8F), 0x3f80);
    EXPECT_EQ(coded("bf16", 1.0F + 0x3p-8F), 0x3f82);
    EXPECT_EQ(coded("fp16", 1.0F + 0x1p-11F), 0x3c00);
    EXPECT_EQ(coded("fp16", 1.0F + 0x3p-11F), 0x3c02);
    EXPECT_EQ(coded("fp16", 0x1p-25F), 0x0000);
    EXPECT_EQ(coded("fp16", 0x3p-25F), 0x0002);
}

TEST(HalfCodec, ClampsValuesThatTheFormatCannotHold) {
    EXPECT_EQ(decoded("fp16", coded("fp16", 65520.0F)), kFp16Max);
    EXPECT_EQ(decoded("fp16", coded("fp16", -FLT_MAX)), -kFp16Max);
    EXPECT_EQ(coded("bf16", FLT_MAX), 0x7f7f);
    EXPECT_EQ(coded("bf16", -FLT_MAX), 0xff7f);
}

/// Every one of the 65,536 numbers of either format, but NaN and infinity.
TEST(HalfCodec, EveryFiniteNumberSurvivesARound) {
    for (const auto& [codec, infinity] : {std::pair{"bf16", 0x7f80}, std::pair{"fp16", 0x7c00}}) {
        for (unsigned bits = 0; bits <= 0xffff; ++bits) {
            const auto half = static_cast<std::uint16_t>(bits);
            if ((half & 0x7fff) < infinity) {
                ASSERT_EQ(coded(codec, decoded(codec, half)), half) << codec;
            }
        }
    }
}

TEST(HalfCodec, RefusesNumbersThatAreNotFinite) {
    for (const auto& [codec, bits] :
         {std::pair{"bf16", 0x7f80U},
          std::pair{"bf16", 0xffc0U},
          std::pair{"fp16", 0x7c00U},
          std::pair{"fp16", 0xfc01U}}) {
        const auto half = static_cast<std::uint16_t>(bits);
        float value = 0;
        const auto result =
            find_codec(codec)->decode(std::as_bytes(std::span(&half, 1)), {&value, 1});
        ASSERT_TRUE(result.has_error()) << codec << ' ' << bits;
        EXPECT_EQ(result.error().code, swarm::ErrorCode::NotFinite);
    }
}

TEST(HalfCodec, Fp16RefusesGradientsThatItWouldFlushToZero) {
    EXPECT_FALSE(find_codec("fp16")->refusal_of(TensorRole::WeightGradient).empty());
    EXPECT_FALSE(find_codec("fp16")->refusal_of(TensorRole::PseudoGradient).empty());
    EXPECT_TRUE(find_codec("bf16")->refusal_of(TensorRole::WeightGradient).empty());
}

}  // namespace
}  // namespace compression

#include "compression/int8.hpp"

#include "swarm/base/rng.hpp"
#include "tests/unit/compression/bytes_of.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <vector>

namespace compression {
namespace {

using swarm::ErrorCode;
using swarm::Rng;
using test::bytes_of;

std::vector<std::byte> int8_bytes(const std::vector<float>& values) {
    std::vector<std::byte> bytes(find_codec("int8")->encoded_bytes(values.size()));
    EXPECT_TRUE(find_codec("int8")->encode(values, TensorRole::Activation, 0, bytes).has_value());
    return bytes;
}

std::vector<std::byte> one_group(float scale, std::byte value) {
    std::vector<std::byte> bytes(5);
    std::memcpy(bytes.data(), &scale, sizeof scale);
    bytes[4] = value;
    return bytes;
}

ErrorCode refusal_of(const std::vector<std::byte>& bytes) {
    std::array<float, 1> out{};
    const auto decoded = find_codec("int8")->decode(bytes, out);
    EXPECT_TRUE(decoded.has_error());
    return decoded.has_error() ? decoded.error().code : ErrorCode::Usage;
}

TEST(Int8Codec, WritesTheBytesOfTheReadme) {
    // 127 is the largest, so the scale is 1.0; 2.5 is a tie and goes to the even step.
    EXPECT_EQ(
        int8_bytes({127, -3, 2.5F, 0}), bytes_of({0x00, 0x00, 0x80, 0x3f, 0x7f, 0xfd, 0x02, 0x00})
    );
}

TEST(Int8Codec, WritesTheSecondExampleOfTheReadme) {
    EXPECT_EQ(int8_bytes({-1}), bytes_of({0x80, 0x02, 0x01, 0x3c, 0x81}));
}

TEST(Int8Codec, StartsANewScaleEvery64Values) {
    std::vector<float> values(65, 127.0F);
    values[64] = 254.0F;
    const std::vector<std::byte> bytes = int8_bytes(values);
    ASSERT_EQ(bytes.size(), 65U + 8U);
    float second = 0;
    std::memcpy(&second, bytes.data() + 68, sizeof second);
    EXPECT_EQ(second, 2.0F);
}

TEST(Int8Codec, ScaleCoversTheLargestValueAndHas17SignificantBits) {
    Rng rng(1, 2);
    for (int i = 0; i < 100'000; ++i) {
        const auto bits = static_cast<std::uint32_t>(rng.below(0x7f800000));
        const float largest = std::bit_cast<float>(bits);
        const float scale = int8_scale(largest);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(scale) & 0x7fU, 0U) << std::hexfloat << largest;
        if (scale > 0 && scale < kInt8ScaleMax) {
            ASSERT_GE(127.0 * scale, largest) << std::hexfloat << largest;
        }
        if (scale > 0x1p-126F) {  // and the next smaller one would not cover it
            const float smaller = std::bit_cast<float>(std::bit_cast<std::uint32_t>(scale) - 0x80U);
            ASSERT_LT(127.0 * smaller, largest) << std::hexfloat << largest;
        }
    }
}

TEST(Int8Codec, LargestScaleDecodesToAFiniteNumberAndTheNextOneWouldNot) {
    EXPECT_LE(127.0 * kInt8ScaleMax, static_cast<double>(FLT_MAX));
    const float next = std::bit_cast<float>(std::bit_cast<std::uint32_t>(kInt8ScaleMax) + 0x80U);
    EXPECT_GT(127.0 * next, static_cast<double>(FLT_MAX));
    EXPECT_EQ(int8_scale(FLT_MAX), kInt8ScaleMax);
}

TEST(Int8Codec, RefusesAScaleThatNoEncoderWrites) {
    for (const float scale :
         {INFINITY,
          NAN,
          -1.0F,
          -0.0F,
          0x1p-127F,
          0x1p-149F,
          FLT_MAX,
          1.0F + 0x1p-23F,
          1.0F + 0x1p-17F}) {
        EXPECT_EQ(refusal_of(one_group(scale, std::byte{1})), ErrorCode::Malformed) << scale;
    }
}

TEST(Int8Codec, RefusesTheByteMinus128) {
    EXPECT_EQ(refusal_of(one_group(1.0F, std::byte{0x80})), ErrorCode::Malformed);
}

TEST(Int8Codec, EncodingADecodedTensorGivesTheSameBytes) {
    Rng rng(3, 4);
    for (int round = 0; round < 500; ++round) {
        std::vector<float> values(1 + rng.below(200));
        const double magnitude = std::ldexp(1.0, static_cast<int>(rng.below(240)) - 120);
        for (float& value : values) {
            value = static_cast<float>((2 * rng.unit() - 1) * magnitude);
        }
        const std::vector<std::byte> first = int8_bytes(values);
        ASSERT_TRUE(find_codec("int8")->decode(first, values).has_value());
        ASSERT_EQ(int8_bytes(values), first) << "round " << round;
    }
}

TEST(Int8Codec, GroupsDoNotSeeEachOther) {
    std::vector<float> quiet(64, 0.01F);
    std::vector<float> loud = quiet;
    loud.resize(128, 1e30F);
    const std::vector<std::byte> alone = int8_bytes(quiet);
    const std::vector<std::byte> together = int8_bytes(loud);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin()));
}

TEST(Int8Codec, IsAFunctionOfTheValuesAlone) {
    const std::vector<float> values{0.3F, -0.7F, 0.1F};
    std::vector<std::byte> bytes(find_codec("int8")->encoded_bytes(3));
    ASSERT_TRUE(
        find_codec("int8")->encode(values, TensorRole::ActivationGradient, 99, bytes).has_value()
    );
    EXPECT_EQ(bytes, int8_bytes(values));
}

}  // namespace
}  // namespace compression

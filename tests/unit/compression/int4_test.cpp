#include "compression/int4.hpp"

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

std::vector<std::byte> encoded(
    std::string_view codec, const std::vector<float>& values, TensorRole role, std::uint64_t seed
) {
    std::vector<std::byte> bytes(find_codec(codec)->encoded_bytes(values.size()));
    EXPECT_TRUE(find_codec(codec)->encode(values, role, seed, bytes).has_value());
    return bytes;
}

std::vector<std::byte> encoded(std::string_view codec, const std::vector<float>& values) {
    return encoded(codec, values, TensorRole::Activation, 0);
}

std::vector<float> decoded(
    std::string_view codec, const std::vector<std::byte>& bytes, std::size_t elements
) {
    std::vector<float> values(elements);
    EXPECT_TRUE(find_codec(codec)->decode(bytes, values).has_value());
    return values;
}

ErrorCode refusal_of(std::string_view codec, const std::vector<std::byte>& bytes, std::size_t n) {
    std::vector<float> out(n);
    const auto result = find_codec(codec)->decode(bytes, out);
    EXPECT_TRUE(result.has_error());
    return result.has_error() ? result.error().code : ErrorCode::Usage;
}

TEST(Int4Codec, WritesTheBytesOfTheReadme) {
    // 7 is the largest, so the scale is 1.0, in bf16 0x3f80; 2.5 is a tie and goes to the even one.
    EXPECT_EQ(encoded("int4", {7, -3, 2.5F, 0, -7}), bytes_of({0x80, 0x3f, 0xd7, 0x02, 0x09}));
}

TEST(Int4Codec, DrawsDecideForGradients) {
    const std::vector<float> values{7, -3, 2.5F, 0, -7};
    bool up = false;
    bool down = false;
    for (std::uint64_t seed = 0; seed < 64; ++seed) {
        const auto back =
            decoded("int4", encoded("int4", values, TensorRole::ActivationGradient, seed), 5);
        EXPECT_EQ(back[0], 7);  // whole levels stay
        EXPECT_EQ(back[1], -3);
        EXPECT_EQ(back[3], 0);
        EXPECT_EQ(back[4], -7);
        up = up || back[2] == 3;
        down = down || back[2] == 2;
    }
    EXPECT_TRUE(up && down);
}

TEST(Int4Codec, ScaleCoversTheLargestValueAndIsABf16Number) {
    Rng rng(1, 2);
    for (int i = 0; i < 100'000; ++i) {
        const float largest =
            std::bit_cast<float>(static_cast<std::uint32_t>(rng.below(0x7f800000)));
        const float scale = int4_scale(largest);
        const auto bits = std::bit_cast<std::uint32_t>(scale);
        ASSERT_EQ(bits & 0xffffU, 0U) << std::hexfloat << largest;
        ASSERT_LE(7.0 * scale, static_cast<double>(FLT_MAX));
        if (scale > 0 && scale < int4_scale(FLT_MAX)) {
            ASSERT_GE(7.0 * scale, largest) << std::hexfloat << largest;
        }
        if (scale > 0x1p-126F) {
            ASSERT_LT(7.0 * std::bit_cast<float>(bits - 0x10000U), largest) << std::hexfloat;
        }
    }
}

TEST(Int4Codec, RefusesAScaleThatNoEncoderWrites) {
    // Infinity, NaN, -1, -0, 2^-127, the largest bf16 number, the first whose 7-fold is infinite.
    for (const int high_byte_first : {0x7f80, 0x7fc0, 0xbf80, 0x8000, 0x0040, 0x7f7f, 0x7e13}) {
        const auto bytes = bytes_of({high_byte_first & 0xff, high_byte_first >> 8, 1});
        EXPECT_EQ(refusal_of("int4", bytes, 1), ErrorCode::Malformed) << high_byte_first;
    }
    EXPECT_EQ(decoded("int4", bytes_of({0x12, 0x7e, 7}), 1)[0], 7 * 0x1.24p+125F);
}

TEST(Int4Codec, RefusesTheLevelMinus8AndAnUnusedNibbleThatIsNotZero) {
    EXPECT_EQ(refusal_of("int4", bytes_of({0x80, 0x3f, 0x08}), 1), ErrorCode::Malformed);
    EXPECT_EQ(refusal_of("int4", bytes_of({0x80, 0x3f, 0x81}), 2), ErrorCode::Malformed);
    EXPECT_EQ(refusal_of("int4", bytes_of({0x80, 0x3f, 0x11}), 1), ErrorCode::Malformed);
}

TEST(Int4Codec, GroupsDrawApartAndByTheirPlaceInTheTensor) {
    std::vector<float> twice(128, 0.3F);
    twice[0] = twice[64] = 1.0F;
    const auto bytes = encoded("int4", twice, TensorRole::ActivationGradient, 5);
    const std::vector<std::byte> first(bytes.begin(), bytes.begin() + 34);
    EXPECT_NE(first, std::vector<std::byte>(bytes.begin() + 34, bytes.end()));
    twice.resize(64);
    EXPECT_EQ(encoded("int4", twice, TensorRole::ActivationGradient, 5), first);
}

TEST(HadamardInt4Codec, WritesTheBytesOfTheReadme) {
    // One 56 becomes 64 coefficients of 7: scale 1, all levels 7.
    std::vector<std::byte> expected(34, std::byte{0x77});
    expected[0] = std::byte{0x80};
    expected[1] = std::byte{0x3f};
    EXPECT_EQ(encoded("hadamard-int4", {56}), expected);
    EXPECT_EQ(decoded("hadamard-int4", expected, 1)[0], 56);
}

TEST(HadamardTransform, IsOrthonormalAndItsOwnInverse) {
    for (const simd::Path path : swarm::kCpuPaths) {
        const simd::Kernels* const kernels = simd::kernels_of(path);
        if (kernels == nullptr) {
            continue;
        }
        for (std::size_t place = 0; place < simd::kGroup; ++place) {
            std::array<float, simd::kGroup> unit{};
            unit[place] = 8;
            std::array<float, simd::kGroup> row{};
            kernels->hadamard(unit.data(), 1, row.data());
            for (std::size_t column = 0; column < simd::kGroup; ++column) {
                const bool minus = std::popcount(place & column) % 2 == 1;
                ASSERT_EQ(row[column], minus ? -1 : 1) << to_text(path) << ' ' << place;
            }
            kernels->hadamard(row.data(), 1, row.data());
            ASSERT_EQ(row, unit) << to_text(path);
        }
    }
}

/// One channel is 50 times as large as the others: the transform is made for this case.
TEST(HadamardInt4Codec, LosesLessThanInt4WhereOneChannelStandsOut) {
    Rng rng(3, 4);
    std::vector<float> values(64 * 256);
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>((2 * rng.unit() - 1) * (i % 64 == 11 ? 50 : 1));
    }
    const auto error = [&](std::string_view codec) {
        const auto back = decoded(codec, encoded(codec, values), values.size());
        double sum = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            sum += std::pow(double{back[i]} - values[i], 2);
        }
        return std::sqrt(sum);
    };
    EXPECT_LT(error("hadamard-int4"), 0.8 * error("int4"));
}

TEST(HadamardInt4Codec, RefusesScalesWhoseSumsWouldOverflow) {
    const float largest = int4_scale(8 * kHadamardMax);
    std::vector<std::byte> bytes(34);
    std::uint32_t bits = std::bit_cast<std::uint32_t>(largest) >> 16;
    std::memcpy(bytes.data(), &bits, 2);
    EXPECT_EQ(decoded("hadamard-int4", bytes, 64), std::vector<float>(64));
    ++bits;
    std::memcpy(bytes.data(), &bits, 2);
    EXPECT_EQ(refusal_of("hadamard-int4", bytes, 64), ErrorCode::Malformed);
}

TEST(FourBitCodecs, RefuseParameters) {
    for (const char* const codec : {"int4", "hadamard-int4"}) {
        const auto refused = find_codec(codec)->check_role(TensorRole::Parameter);
        ASSERT_TRUE(refused.has_error());
        EXPECT_NE(refused.error().detail.find("not for parameters"), std::string::npos);
    }
}

}  // namespace
}  // namespace compression

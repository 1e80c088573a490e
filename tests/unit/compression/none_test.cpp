#include "compression/none.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <vector>

namespace compression {
namespace {

TEST(NoneCodec, WritesLittleEndianFp32) {
    const std::array<float, 1> values{-1.5F};
    std::array<std::byte, 4> bytes{};
    ASSERT_TRUE(find_codec("none")->encode(values, TensorRole::Activation, 0, bytes).has_value());
    EXPECT_EQ(bytes, (std::array{std::byte{0}, std::byte{0}, std::byte{0xc0}, std::byte{0xbf}}));
}

TEST(NoneCodec, KeepsEveryBitAlsoOfDenormalsAndNegativeZero) {
    const std::array<float, 3> values{-0.0F, 0x1p-149F, -0x1.fffffep+127F};
    std::array<std::byte, 12> bytes{};
    std::array<float, 3> back{};
    ASSERT_TRUE(find_codec("none")->encode(values, TensorRole::Activation, 0, bytes).has_value());
    ASSERT_TRUE(find_codec("none")->decode(bytes, back).has_value());
    EXPECT_EQ(std::memcmp(values.data(), back.data(), sizeof values), 0);
}

TEST(NoneCodec, RefusesBytesThatDecodeToNanOrInfinity) {
    for (const std::uint32_t bits : {0x7f800000U, 0xff800000U, 0x7fc00000U, 0x7f800001U}) {
        std::array<std::byte, 8> bytes{};
        std::memcpy(bytes.data() + 4, &bits, sizeof bits);
        std::array<float, 2> out{};
        const auto decoded = find_codec("none")->decode(bytes, out);
        ASSERT_TRUE(decoded.has_error()) << std::hex << bits;
        EXPECT_EQ(decoded.error().code, swarm::ErrorCode::NotFinite);
    }
}

}  // namespace
}  // namespace compression

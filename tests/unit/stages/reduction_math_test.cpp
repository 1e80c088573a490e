#include "stages/worker/reduction_math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace stages {
namespace {

TEST(SumOfSquares, CountsEveryElementOfEveryBlockOnce) {
    for (const std::size_t count : {0U, 1U, 7U, 8U, 9U, 65535U, 65536U, 65537U, 200'003U}) {
        const std::vector<float> ones(count, 3.0F);
        EXPECT_EQ(sum_of_squares(ones), 9.0 * static_cast<double>(count)) << count;
    }
}

TEST(SumOfSquares, AddsBlocksOfTwoToTheSixteenInOrder) {
    // Doubles near 2^54 are 4 apart, so three ones survive only when they are added first.
    constexpr std::size_t kBlock = std::size_t{1} << 16;
    const auto with_large_one_in_block = [](std::size_t large) {
        std::vector<float> values(4 * kBlock);
        for (std::size_t block = 0; block < 4; ++block) {
            values[block * kBlock + 5] = block == large ? 0x1p27F : 1.0F;
        }
        return values;
    };
    EXPECT_EQ(sum_of_squares(with_large_one_in_block(3)), 0x1p54 + 4);
    EXPECT_EQ(sum_of_squares(with_large_one_in_block(0)), 0x1p54);
}

TEST(SumOfSquares, KeepsSumsThatFloatsCannotHold) {
    const std::vector<float> values{1e-25F, std::numeric_limits<float>::max()};
    EXPECT_TRUE(std::isfinite(sum_of_squares(values)));
    EXPECT_GT(sum_of_squares(std::span(values).first(1)), 0.0);
}

TEST(AddSums, AddsLittleEndianWordsAtAnyAddress) {
    std::vector<std::byte> bytes(1 + 2 * sizeof(std::int64_t));
    bytes[1] = std::byte{5};
    for (std::size_t i = 9; i < bytes.size(); ++i) {
        bytes[i] = std::byte{0xff};  // -1
    }
    std::vector<std::int64_t> sums{10, 10};
    add_sums(std::span(bytes).subspan(1), sums);
    EXPECT_EQ(sums, (std::vector<std::int64_t>{15, 9}));
}

TEST(AddSums, WrapsAroundForAPeerThatLies) {
    const std::vector<std::int64_t> part{1};
    std::vector<std::int64_t> sums{std::numeric_limits<std::int64_t>::max()};
    add_sums(std::as_bytes(std::span(part)), sums);
    EXPECT_EQ(sums[0], std::numeric_limits<std::int64_t>::min());
}

}  // namespace
}  // namespace stages

#include "stages/worker/accumulator.hpp"

#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace stages {
namespace {

constexpr std::int64_t kOne = std::int64_t{1} << 40;

std::vector<float> gradients(std::uint64_t seed, std::size_t count) {
    swarm::Rng rng(seed, 0);
    std::vector<float> values;
    for (std::size_t i = 0; i < count; ++i) {
        const double size = std::ldexp(rng.unit() - 0.5, static_cast<int>(rng.below(54)) - 42);
        values.push_back(static_cast<float>(size));
    }
    return values;
}

TEST(Accumulator, RoundsToTheNearestMultipleOfTwoToTheMinusFortyWithTiesToEven) {
    std::vector<float> values = gradients(7, 10'000);
    for (const float half_steps : {1.0F, 2.0F, 3.0F, 5.0F, -1.0F, -3.0F}) {
        values.push_back(half_steps * 0x1p-41F);
    }
    values.push_back(std::nextafter(2048.0F, 0.0F));
    values.push_back(-std::nextafter(2048.0F, 0.0F));
    Accumulator sums(values.size(), 1);
    sums.add({0}, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(sums.sums()[i], std::llrint(static_cast<double>(values[i]) * 0x1p40))
            << values[i];
    }
}

TEST(Accumulator, DoesNotShowTheOrderOfItsGradients) {
    constexpr std::uint32_t kGradients = 20;
    Accumulator upwards(100, kGradients);
    Accumulator downwards(100, kGradients);
    for (std::uint32_t i = 0; i < kGradients; ++i) {
        const std::uint32_t j = kGradients - 1 - i;
        upwards.add({i}, gradients(i, 100));
        downwards.add({j}, gradients(j, 100));
    }
    EXPECT_TRUE(std::ranges::equal(upwards.sums(), downwards.sums()));
}

TEST(Accumulator, CountsEachMicrobatchInItsOwnElement) {
    Accumulator sums(2, 3);
    sums.add({2}, std::vector<float>{0, 0});
    sums.add({0}, std::vector<float>{0, 0});
    sums.add({2}, std::vector<float>{0, 0});
    const std::vector<std::int64_t> expected{0, 0, kOne, 0, 2 * kOne};
    EXPECT_TRUE(std::ranges::equal(sums.sums(), expected));
}

TEST(Accumulator, IsZeroAfterClear) {
    Accumulator sums(1, 1);
    sums.add({0}, std::vector<float>{3});
    sums.clear();
    EXPECT_EQ(sums.sums()[0], 0);
    EXPECT_EQ(sums.sums()[1], 0);
}

TEST(Accumulator, TurnsSumsBackIntoTheirValues) {
    EXPECT_EQ(to_value(kOne), 1.0F);
    EXPECT_EQ(to_value(-kOne / 4), -0.25F);
    EXPECT_EQ(to_value(1), 0x1p-40F);
    std::vector<float> values(2);
    to_values(std::vector<std::int64_t>{3 * kOne, -5}, values);
    EXPECT_EQ(values, (std::vector<float>{3.0F, -5 * 0x1p-40F}));
}

TEST(CheckGradient, AcceptsMagnitudesBelowItsLimit) {
    const float largest = std::nextafter(2048.0F, 0.0F);
    EXPECT_TRUE(check_gradient(std::vector<float>{0.0F, -0.0F, largest, -largest, 1e-45F}));
    EXPECT_TRUE(check_gradient({}));
}

TEST(CheckGradient, RefusesTheLimitInfinityAndNotANumberAtEveryPlace) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const float bad : {2048.0F, -2048.0F, kInfinity, -kInfinity, nan, -nan}) {
        for (std::size_t place = 0; place < 37; ++place) {
            std::vector<float> gradient(37, 0.5F);
            gradient[place] = bad;
            const auto checked = check_gradient(gradient);
            ASSERT_TRUE(checked.has_error()) << bad << " at " << place;
            EXPECT_EQ(checked.error().code, swarm::ErrorCode::NotFinite);
        }
    }
}

}  // namespace
}  // namespace stages

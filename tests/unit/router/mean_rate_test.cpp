#include "router/mean_rate.hpp"

#include <gtest/gtest.h>

namespace router {
namespace {

TEST(MeanRate, IsOneWhileNoRateIsKnown) {
    const MeanRate mean;
    EXPECT_FALSE(mean.known());
    EXPECT_EQ(mean.value(), 1.0);
}

TEST(MeanRate, IsTheMeanOfTheNewestRates) {
    MeanRate mean;
    mean.replace(0, 10);
    mean.replace(0, 20);
    mean.replace(10, 40);
    EXPECT_EQ(mean.value(), 30.0);
    mean.replace(40, 0);
    EXPECT_EQ(mean.value(), 20.0);
}

TEST(MeanRate, ForgetsEverythingWithTheLastRate) {
    MeanRate mean;
    mean.replace(0, 1e17);
    mean.replace(0, 1);
    mean.replace(1e17, 0);
    mean.replace(1, 0);
    EXPECT_FALSE(mean.known());
    mean.replace(0, 3);
    EXPECT_EQ(mean.value(), 3.0);
}

}  // namespace
}  // namespace router

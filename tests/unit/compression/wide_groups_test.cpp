// int8 in groups of 256, which is measured only: the same promises as groups of 64.
#include "compression/int8.hpp"
#include "compression/simd/kernels.hpp"
#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace compression {
namespace {

using simd::kWideGroup;
using simd::kWideInt8GroupBytes;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kGroups = 21;  // more than a batch of any path, and not a multiple

std::vector<float> values_of_many_magnitudes() {
    swarm::Rng rng(3, 4);
    std::vector<float> values(kGroups * kWideGroup);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto exponent = static_cast<int>(i / kWideGroup) * 12 - 135;
        values[i] = static_cast<float>(std::ldexp(rng.unit() - 0.5, exponent));
    }
    return values;
}

Bytes encode(const simd::Kernels& kernels, const std::vector<float>& values) {
    Bytes bytes(kGroups * kWideInt8GroupBytes);
    EXPECT_TRUE(kernels.encode_wide_int8(values.data(), kGroups, bytes.data()));
    return bytes;
}

class WideGroups : public testing::TestWithParam<simd::Path> {
 protected:
    void SetUp() override {
        if (kernels_ == nullptr) {
            GTEST_SKIP() << "this processor lacks the instructions";
        }
    }

    const simd::Kernels* kernels_ = simd::kernels_of(GetParam());
    std::vector<float> values_ = values_of_many_magnitudes();
};

}  // namespace

TEST_P(WideGroups, HaveTheBytesOfTheScalarPath) {
    EXPECT_EQ(encode(*kernels_, values_), encode(simd::scalar_kernels(), values_));
}

TEST_P(WideGroups, DecodeAndAddAsTheScalarPathDoes) {
    const Bytes bytes = encode(*kernels_, values_);
    std::vector<float> decoded(values_.size());
    std::vector<float> expected(values_.size());
    ASSERT_TRUE(kernels_->decode_wide_int8(bytes.data(), kGroups, decoded.data()));
    ASSERT_TRUE(simd::scalar_kernels().decode_wide_int8(bytes.data(), kGroups, expected.data()));
    EXPECT_EQ(decoded, expected);
    std::vector<float> sum = values_;
    ASSERT_TRUE(kernels_->add_wide_int8(bytes.data(), kGroups, sum.data()));
    for (std::size_t i = 0; i < sum.size(); ++i) {
        ASSERT_EQ(sum[i], values_[i] + expected[i]) << i;
    }
}

TEST_P(WideGroups, StayWithinTheErrorOfInt8) {
    const Bytes bytes = encode(*kernels_, values_);
    std::vector<float> decoded(values_.size());
    ASSERT_TRUE(kernels_->decode_wide_int8(bytes.data(), kGroups, decoded.data()));
    for (std::size_t begin = 0; begin < values_.size(); begin += kWideGroup) {
        float largest = 0;
        for (std::size_t i = begin; i < begin + kWideGroup; ++i) {
            largest = std::fmax(largest, std::fabs(values_[i]));
        }
        for (std::size_t i = begin; i < begin + kWideGroup; ++i) {
            ASSERT_LE(std::fabs(values_[i] - decoded[i]), int8_error_bound(largest)) << i;
        }
    }
}

TEST_P(WideGroups, RefuseNonFiniteValuesAndTheLevelThatNoEncoderWrites) {
    for (const std::size_t place : {std::size_t{0}, std::size_t{63}, kWideGroup + 200}) {
        std::vector<float> values = values_;
        values[place] = std::numeric_limits<float>::quiet_NaN();
        Bytes bytes(kGroups * kWideInt8GroupBytes);
        EXPECT_FALSE(kernels_->encode_wide_int8(values.data(), kGroups, bytes.data())) << place;
    }
    for (const std::size_t place : {sizeof(float), sizeof(float) + 100, kWideInt8GroupBytes - 1}) {
        Bytes bytes = encode(*kernels_, values_);
        bytes[place] = std::byte{0x80};
        std::vector<float> decoded(values_.size());
        EXPECT_FALSE(kernels_->decode_wide_int8(bytes.data(), kGroups, decoded.data())) << place;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Paths, WideGroups, testing::Values(simd::Path::Scalar, simd::Path::Avx2, simd::Path::Avx512)
);

}  // namespace compression

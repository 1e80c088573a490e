#include "stacking/kernels/packed_matrix.hpp"

#include "stacking/kernels/packed_layout.hpp"
#include "tests/unit/stacking_kernels/random_values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace stacking::kernels {
namespace {

using test::random_values;

constexpr std::size_t kOutputs = 70;
constexpr std::size_t kInputs = 40;  // a group of 32 and one of 8

std::vector<float> row_of(const PackedMatrix& matrix, std::size_t output) {
    std::vector<float> row(matrix.inputs());
    matrix.read_row(output, row);
    return row;
}

PackedMatrix pack(WeightFormat format, std::span<const float> values) {
    PackedMatrix matrix(format, kOutputs, kInputs);
    matrix.add_rows(0, values);
    return matrix;
}

TEST(PackedMatrix, Fp32KeepsEveryBit) {
    const auto values = random_values(kOutputs * kInputs, 1);
    const PackedMatrix matrix = pack(WeightFormat::Fp32, values);
    for (std::size_t output = 0; output < kOutputs; ++output) {
        const auto wanted = std::span(values).subspan(output * kInputs, kInputs);
        EXPECT_TRUE(std::ranges::equal(row_of(matrix, output), wanted)) << output;
    }
}

TEST(PackedMatrix, Bf16RoundsToNearestEven) {
    PackedMatrix matrix(WeightFormat::Bf16, 1, 5);
    const float values[] = {
        0x1.01p+0F, 0x1.03p+0F, 0x1.02p+0F, 0x1.0101p+0F, -std::numeric_limits<float>::max()};
    matrix.add_rows(0, values);
    EXPECT_EQ(
        row_of(matrix, 0),
        (std::vector<float>{0x1p+0F, 0x1.04p+0F, 0x1.02p+0F, 0x1.02p+0F, -INFINITY})
    );
}

TEST(PackedMatrix, Int8IsWithinHalfALevelOfItsGroup) {
    const auto values = random_values(kOutputs * kInputs, 1);
    const PackedMatrix matrix = pack(WeightFormat::Int8, values);
    for (std::size_t output = 0; output < kOutputs; ++output) {
        const auto row = row_of(matrix, output);
        for (std::size_t first = 0; first < kInputs; first += kScaleGroup) {
            const auto group = std::span(values).subspan(
                output * kInputs + first, std::min(kScaleGroup, kInputs - first)
            );
            float largest = 0;
            for (const float value : group) {
                largest = std::max(largest, std::fabs(value));
            }
            for (std::size_t k = 0; k < group.size(); ++k) {
                EXPECT_NEAR(row[first + k], group[k], largest / 127 * 0.5001);
            }
        }
    }
}

TEST(PackedMatrix, Int8GivesBackValuesThatAreLevelsTimesAScale) {
    std::vector<float> values(kOutputs * kInputs);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto level = static_cast<float>(static_cast<int>(i * 37 % 255) - 127);
        values[i] = (i % kInputs % kScaleGroup == 0 ? 127.0F : level) * 0x1.5p-7F;
    }
    const PackedMatrix matrix = pack(WeightFormat::Int8, values);
    for (std::size_t output = 0; output < kOutputs; ++output) {
        const auto wanted = std::span(values).subspan(output * kInputs, kInputs);
        EXPECT_TRUE(std::ranges::equal(row_of(matrix, output), wanted)) << output;
    }
}

TEST(PackedMatrix, PackingInPartsGivesTheSameBytes) {
    const auto values = random_values(kOutputs * kInputs, 1);
    for (const auto format : {WeightFormat::Fp32, WeightFormat::Bf16, WeightFormat::Int8}) {
        const PackedMatrix whole = pack(format, values);
        PackedMatrix parts(format, kOutputs, kInputs);
        parts.add_rows(33, std::span(values).subspan(33 * kInputs));
        parts.add_rows(0, std::span(values).first(33 * kInputs));
        ASSERT_EQ(parts.bytes(), whole.bytes());
        EXPECT_EQ(std::memcmp(parts.view().panels, whole.view().panels, whole.bytes()), 0)
            << name_of(format);
    }
}

TEST(PackedMatrix, ZerosAndNonFiniteValuesSpoilNoOtherGroup) {
    auto values = std::vector<float>(kOutputs * kInputs);
    values[3] = std::numeric_limits<float>::infinity();
    values[kInputs + 3] = std::numeric_limits<float>::denorm_min();
    const PackedMatrix matrix = pack(WeightFormat::Int8, values);
    EXPECT_TRUE(std::isnan(row_of(matrix, 0)[0]));
    EXPECT_EQ(row_of(matrix, 0)[35], 0) << "of another group";
    EXPECT_EQ(row_of(matrix, 1)[0], 0);
    EXPECT_EQ(row_of(matrix, 2), std::vector<float>(kInputs));
}

TEST(PackedMatrix, TakesAsManyBytesAsItSays) {
    // There are 2 panels of 64 outputs; each panel of int8 has 2 groups of 32 inputs.
    EXPECT_EQ(PackedMatrix::bytes_of(WeightFormat::Fp32, kOutputs, kInputs), 2 * 40 * 64 * 4);
    EXPECT_EQ(PackedMatrix::bytes_of(WeightFormat::Bf16, kOutputs, kInputs), 2 * 40 * 64 * 2);
    EXPECT_EQ(
        PackedMatrix::bytes_of(WeightFormat::Int8, kOutputs, kInputs), 2 * 2 * (64 * 4 + 32 * 64)
    );
}

TEST(WeightFormat, HasNames) {
    EXPECT_EQ(parse_weight_format("bf16"), WeightFormat::Bf16);
    EXPECT_EQ(parse_weight_format("fp64"), std::nullopt);
    EXPECT_EQ(name_of(WeightFormat::Int8), "int8");
}

}  // namespace
}  // namespace stacking::kernels

// Products by weights of F8_E4M3 with scales: those of the weights as fp32, bit for bit.
#include "stacking/blocks/coding.hpp"
#include "stacking/kernels/packed_layout.hpp"
#include "stacking/kernels/packed_matrix.hpp"
#include "stacking/kernels/split_multiply.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/net/device/worker_pool.hpp"
#include "tests/unit/stacking_kernels/random_values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

namespace stacking::kernels {
namespace {

using blocks::WeightType;
using test::random_values;
using test::Shape;

/// Less than a panel and a group of inputs, whole ones, and broken ones.
constexpr Shape kF8Shapes[] = {{1, 1}, {63, 37}, {64, 128}, {65, 129}, {130, 700}};
constexpr std::size_t kF8Rows[] = {1, 2, 5, 6, 7, 13, 48, 49, 97};

/// Bytes that are numbers, all of them, in a drawn order.
std::vector<std::byte> random_bytes(std::size_t count) {
    swarm::Rng rng(count, 3);
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) {
        do {
            byte = static_cast<std::byte>(rng.below(256));
        } while ((byte & std::byte{0x7f}) == std::byte{0x7f});
    }
    return bytes;
}

/// Scales with many digits; some are the smallest numbers, zero, negative, and near the largest.
std::vector<float> random_scales(std::size_t count) {
    std::vector<float> scales = random_values(count, 9, 0.01);
    constexpr float kOdd[] = {
        std::numeric_limits<float>::denorm_min(), 0x1.23456p-130F, 0.0F, -0.37F, 0x1.8p+110F};
    for (std::size_t i = 3; i < count; i += 7) {
        scales[i] = kOdd[i / 7 % std::size(kOdd)];
    }
    return scales;
}

struct F8Pair {
    std::vector<std::byte> bytes;
    std::vector<float> scales;
    PackedMatrix stored;
    PackedMatrix wide;

    explicit F8Pair(const Shape& shape)
        : bytes(random_bytes(shape.outputs * shape.inputs)),
          scales(random_scales(shape.outputs * f8_groups(shape.inputs))),
          stored(WeightType::F8_E4M3, shape.outputs, shape.inputs),
          wide(WeightFormat::Fp32, shape.outputs, shape.inputs) {
        std::vector<float> values(bytes.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            const std::size_t group =
                i / shape.inputs * f8_groups(shape.inputs) + i % shape.inputs / kF8Group;
            values[i] = blocks::from_e4m3(std::to_integer<std::uint8_t>(bytes[i])) * scales[group];
        }
        wide.add_rows(0, values);
        EXPECT_TRUE(stored.add_scaled(0, bytes, scales));
    }
};

bool same_bits(std::span<const float> one, std::span<const float> other) {
    return std::memcmp(one.data(), other.data(), one.size_bytes()) == 0;
}

TEST(F8Kernels, EveryPathMultipliesAsByFp32) {
    for (const Shape& shape : kF8Shapes) {
        const F8Pair pair(shape);
        for (const std::size_t rows : kF8Rows) {
            const auto x = random_values(rows * shape.inputs, rows);
            const Rows in{x.data(), rows, shape.inputs};
            std::vector<float> wanted(rows * shape.outputs);
            best_kernels().multiply(pair.wide.view(), in, wanted.data(), shape.outputs);
            for (const Path path : swarm::kCpuPaths) {
                const Kernels* const kernels = kernels_of(path);
                if (kernels == nullptr || (path == Path::Scalar && rows > 7)) {
                    continue;
                }
                std::vector<float> given(rows * shape.outputs);
                kernels->multiply(pair.stored.view(), in, given.data(), shape.outputs);
                EXPECT_TRUE(same_bits(given, wanted))
                    << to_text(path) << ' ' << shape.outputs << 'x' << shape.inputs << ", " << rows;
            }
        }
    }
}

TEST(F8Kernels, ThreadsChangeNoBit) {
    constexpr Shape kShape{1300, 300};
    const F8Pair pair(kShape);
    for (const std::size_t rows : {1U, 7U, 49U}) {
        const auto x = random_values(rows * kShape.inputs, rows);
        const Rows in{x.data(), rows, kShape.inputs};
        std::vector<float> wanted(rows * kShape.outputs);
        auto given = wanted;
        best_kernels().multiply(pair.stored.view(), in, wanted.data(), kShape.outputs);
        swarm::net::WorkerPool pool(3, 1);
        split_multiply(pool, best_kernels(), pair.stored.view(), in, given.data(), kShape.outputs);
        EXPECT_TRUE(same_bits(given, wanted)) << rows;
    }
}

TEST(F8Kernels, ReadsEachRowAsItsWeightsAre) {
    for (const Shape& shape : kF8Shapes) {
        const F8Pair pair(shape);
        std::vector<float> row(shape.inputs);
        std::vector<float> wanted(shape.inputs);
        for (std::size_t output = 0; output < shape.outputs; ++output) {
            pair.stored.read_row(output, row);
            pair.wide.read_row(output, wanted);
            ASSERT_TRUE(same_bits(row, wanted)) << output;
        }
    }
}

TEST(F8Kernels, PackingInPartsGivesTheSameBytes) {
    constexpr Shape kShape{150, 200};
    const F8Pair pair(kShape);
    PackedMatrix parts(WeightType::F8_E4M3, kShape.outputs, kShape.inputs);
    const auto add = [&](std::size_t first, std::size_t count) {
        return parts.add_scaled(
            first,
            std::span(pair.bytes).subspan(first * kShape.inputs, count * kShape.inputs),
            std::span(pair.scales).subspan(first * 2, count * 2)
        );
    };
    EXPECT_TRUE(add(33, 117));
    EXPECT_TRUE(add(0, 33));
    EXPECT_EQ(std::memcmp(pair.stored.view().panels, parts.view().panels, pair.stored.bytes()), 0);
}

TEST(F8Kernels, WithoutScalesTheyAreOne) {
    constexpr Shape kShape{3, 140};
    const auto bytes = random_bytes(kShape.outputs * kShape.inputs);
    PackedMatrix matrix(WeightType::F8_E4M3, kShape.outputs, kShape.inputs);
    ASSERT_TRUE(matrix.add_stored(0, bytes));
    std::vector<float> row(kShape.inputs);
    matrix.read_row(2, row);
    for (std::size_t i = 0; i < kShape.inputs; ++i) {
        const auto byte = std::to_integer<std::uint8_t>(bytes[2 * kShape.inputs + i]);
        EXPECT_EQ(row[i], blocks::from_e4m3(byte));
    }
}

TEST(F8Kernels, ThatAreNoNumbersAreNoticed) {
    for (const std::byte nan : {std::byte{0x7f}, std::byte{0xff}}) {
        auto bytes = random_bytes(2 * 150);
        bytes[150 + 149] = nan;
        PackedMatrix matrix(WeightType::F8_E4M3, 2, 150);
        EXPECT_FALSE(matrix.add_stored(0, bytes));
    }
    std::vector<std::byte> bytes(2 * 150, std::byte{0x7e});  // 448
    PackedMatrix matrix(WeightType::F8_E4M3, 2, 150);
    EXPECT_TRUE(matrix.add_scaled(0, bytes, std::vector<float>(4, 0x1p+118F)));
    EXPECT_FALSE(matrix.add_scaled(0, bytes, std::vector<float>{1, 1, 1, 0x1p+120F}));
}

TEST(F8Kernels, TakeLittleMoreThanTheFile) {
    const std::size_t kept = PackedMatrix::bytes_of(WeightType::F8_E4M3, 576, 1536);
    EXPECT_EQ(kept, PackedMatrix(WeightType::F8_E4M3, 576, 1536).bytes());
    EXPECT_LE(static_cast<double>(kept), 1.04 * 576 * 1536);
}

}  // namespace
}  // namespace stacking::kernels

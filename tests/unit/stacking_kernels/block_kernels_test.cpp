// Products by weights that are kept as they are stored: those of the decoded weights, bit for bit.
#include "stacking/kernels/block_layout.hpp"
#include "stacking/kernels/packed_matrix.hpp"
#include "stacking/kernels/split_multiply.hpp"
#include "swarm/net/device/worker_pool.hpp"
#include "tests/unit/stacking_blocks/random_blocks.hpp"
#include "tests/unit/stacking_kernels/random_values.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace stacking::kernels {
namespace {

using blocks::WeightType;
using blocks::test::random_blocks;
using test::random_values;
using test::Shape;

/// Less than a panel, whole panels and broken ones; one block of 256 inputs and more.
constexpr Shape kShapes[] = {{1, 256}, {63, 512}, {64, 256}, {130, 768}};
constexpr std::size_t kRows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 47, 48, 49, 97};

std::vector<WeightType> kept_types() {
    std::vector<WeightType> types(
        std::begin(blocks::test::kQuantisedTypes), std::end(blocks::test::kQuantisedTypes)
    );
    types.insert(types.end(), {WeightType::F16, WeightType::BF16, WeightType::F32});
    return types;
}

std::vector<std::byte> random_weights(WeightType type, std::size_t values, std::uint64_t seed) {
    if (blocks::is_quantised(type)) {
        return random_blocks(type, values / block_size(type).values, seed);
    }
    std::vector<std::byte> bytes(values * block_size(type).bytes);
    const std::vector<float> drawn = random_values(values, seed, 0.1);
    for (std::size_t i = 0; i < values; ++i) {
        if (type == WeightType::F32) {
            std::memcpy(bytes.data() + 4 * i, &drawn[i], 4);
        } else if (type == WeightType::BF16) {
            std::memcpy(bytes.data() + 2 * i, reinterpret_cast<const std::byte*>(&drawn[i]) + 2, 2);
        } else {
            const auto half = static_cast<std::uint16_t>(
                blocks::test::to_half(std::fabs(drawn[i])) | (drawn[i] < 0 ? 0x8000U : 0U)
            );
            std::memcpy(bytes.data() + 2 * i, &half, 2);
        }
    }
    return bytes;
}

/// A matrix as it is stored, and the same weights as fp32.
struct Pair {
    PackedMatrix stored;
    PackedMatrix wide;

    Pair(WeightType type, const Shape& shape)
        : stored(type, shape.outputs, shape.inputs),
          wide(WeightFormat::Fp32, shape.outputs, shape.inputs) {
        const auto bytes = random_weights(type, shape.outputs * shape.inputs, 11);
        std::vector<float> values(shape.outputs * shape.inputs);
        decode_weights(type, bytes, values);
        wide.add_rows(0, values);
        EXPECT_TRUE(stored.add_stored(0, bytes));
    }
};

class KeptWeights : public testing::TestWithParam<WeightType> {};

TEST_P(KeptWeights, EveryPathMultipliesAsByFp32) {
    for (const Shape& shape : kShapes) {
        const Pair pair(GetParam(), shape);
        for (const std::size_t rows : kRows) {
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
                EXPECT_EQ(std::memcmp(given.data(), wanted.data(), given.size() * sizeof(float)), 0)
                    << to_text(path) << ' ' << shape.outputs << 'x' << shape.inputs << ", " << rows
                    << " rows";
            }
        }
    }
}

TEST_P(KeptWeights, ThreadsChangeNoBit) {
    constexpr Shape kShape{2690, 256};
    const Pair pair(GetParam(), kShape);
    for (const std::size_t threads : {2U, 3U, 5U}) {
        swarm::net::WorkerPool pool(threads, 1);
        for (const std::size_t rows : {1U, 7U, 49U}) {
            auto x = random_values(rows * kShape.inputs, rows);
            x.back() = std::numeric_limits<float>::quiet_NaN();
            const Rows in{x.data(), rows, kShape.inputs};
            std::vector<float> wanted(rows * kShape.outputs);
            auto given = wanted;
            best_kernels().multiply(pair.stored.view(), in, wanted.data(), kShape.outputs);
            split_multiply(
                pool, best_kernels(), pair.stored.view(), in, given.data(), kShape.outputs
            );
            EXPECT_EQ(std::memcmp(given.data(), wanted.data(), given.size() * sizeof(float)), 0)
                << threads << " threads, " << rows << " rows";
        }
    }
}

TEST_P(KeptWeights, ReadsEachRowAsTheFileHasIt) {
    for (const Shape& shape : kShapes) {
        const Pair pair(GetParam(), shape);
        std::vector<float> row(shape.inputs);
        std::vector<float> wanted(shape.inputs);
        for (std::size_t output = 0; output < shape.outputs; ++output) {
            pair.stored.read_row(output, row);
            pair.wide.read_row(output, wanted);
            ASSERT_EQ(std::memcmp(row.data(), wanted.data(), row.size() * sizeof(float)), 0)
                << output;
        }
    }
}

TEST_P(KeptWeights, PackingInPartsGivesTheSameBytes) {
    constexpr Shape kShape{150, 256};
    const auto bytes = random_weights(GetParam(), kShape.outputs * kShape.inputs, 5);
    const std::size_t row = bytes.size() / kShape.outputs;
    PackedMatrix whole(GetParam(), kShape.outputs, kShape.inputs);
    PackedMatrix parts(GetParam(), kShape.outputs, kShape.inputs);
    EXPECT_TRUE(whole.add_stored(0, bytes));
    EXPECT_TRUE(parts.add_stored(33, std::span(bytes).subspan(33 * row)));
    EXPECT_TRUE(parts.add_stored(0, std::span(bytes).first(33 * row)));
    EXPECT_EQ(std::memcmp(whole.view().panels, parts.view().panels, whole.bytes()), 0);
}

TEST_P(KeptWeights, TakeLittleMoreThanTheFile) {
    const WeightType type = GetParam();
    const std::size_t file = 576 * 1536 / block_size(type).values * block_size(type).bytes;
    const std::size_t kept = PackedMatrix::bytes_of(type, 576, 1536);
    EXPECT_EQ(kept, PackedMatrix(type, 576, 1536).bytes());
    EXPECT_GE(kept, file);
    EXPECT_LE(static_cast<double>(kept), 1.05 * static_cast<double>(file));
}

TEST_P(KeptWeights, ThatAreNoNumbersAreNoticed) {
    const WeightType type = GetParam();
    const std::vector<std::size_t> places =
        blocks::is_quantised(type) ? blocks::test::halves_of(type) : std::vector<std::size_t>{0};
    for (const std::size_t at : places) {
        auto bytes = random_weights(type, 2 * 256, 5);
        const std::size_t row = bytes.size() / 2;
        // The first two bytes of an F32 are its lowest.
        const std::size_t place = row + at + (type == WeightType::F32 ? 2 : 0);
        const std::uint16_t infinite =
            blocks::is_quantised(type) || type == WeightType::F16 ? 0xfc00 : 0xff80;
        std::memcpy(bytes.data() + place, &infinite, 2);
        PackedMatrix matrix(type, 2, 256);
        EXPECT_FALSE(matrix.add_stored(0, bytes)) << at;
    }
}

INSTANTIATE_TEST_SUITE_P(Types, KeptWeights, testing::ValuesIn(kept_types()), [](const auto& type) {
    return std::string(name_of(type.param));
});

}  // namespace
}  // namespace stacking::kernels

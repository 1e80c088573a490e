// The number of threads changes no bit of a product.
#include "stacking/kernels/split_multiply.hpp"

#include "stacking/kernels/packed_matrix.hpp"
#include "swarm/net/device/worker_pool.hpp"
#include "tests/unit/stacking_kernels/random_values.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace stacking::kernels {
namespace {

using swarm::net::WorkerPool;
using test::random_values;
using test::Shape;

constexpr std::size_t kThreads[] = {1, 2, 3, 5};
constexpr std::size_t kSplitRows[] = {1, 2, 5, 6, 7, 16, 47, 48, 49, 128};
constexpr std::size_t kGap = 3;  // floats between two rows of the result

/// Less than a panel, some panels with a broken one, and more panels than parts of five threads.
constexpr Shape kSplitShapes[] = {{1, 1}, {63, 33}, {64, 32}, {130, 100}, {576, 64}, {2690, 40}};

class SplitMultiply : public testing::TestWithParam<WeightFormat> {};

TEST_P(SplitMultiply, ThreadsChangeNoBit) {
    for (const std::size_t threads : kThreads) {
        WorkerPool pool(threads, 1);
        for (const auto& [outputs, inputs] : kSplitShapes) {
            PackedMatrix matrix(GetParam(), outputs, inputs);
            matrix.add_rows(0, random_values(outputs * inputs, 7));
            const std::size_t stride = outputs + kGap;
            for (const std::size_t rows : kSplitRows) {
                auto x = random_values(rows * inputs, rows);
                x.back() = std::numeric_limits<float>::quiet_NaN();
                const Rows in{x.data(), rows, inputs};
                std::vector<float> wanted(rows * stride, 9);
                auto given = wanted;
                best_kernels().multiply(matrix.view(), in, wanted.data(), stride);
                split_multiply(pool, best_kernels(), matrix.view(), in, given.data(), stride);
                EXPECT_EQ(std::memcmp(given.data(), wanted.data(), given.size() * sizeof(float)), 0)
                    << threads << " threads, " << outputs << " x " << inputs << ", " << rows
                    << " rows";
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Weights,
    SplitMultiply,
    testing::Values(WeightFormat::Fp32, WeightFormat::Bf16, WeightFormat::Int8),
    [](const auto& format) { return std::string(name_of(format.param)); }
);

/// Counts the calls of multiply().
struct Calls {
    static inline std::atomic<std::size_t> count{0};

    static void multiply(const MatrixView& matrix, const Rows& x, float* out, std::size_t stride) {
        ++count;
        best_kernels().multiply(matrix, x, out, stride);
    }
};

TEST(SplitMultiplyBlocks, CutsRowsWhereThereAreFewPanels) {
    Kernels counting = scalar_kernels();
    counting.multiply = Calls::multiply;
    WorkerPool pool(2, 1);
    PackedMatrix matrix(WeightFormat::Fp32, 64, 8);
    matrix.add_rows(0, random_values(64 * 8, 1));
    const auto calls_for = [&](std::size_t rows) {
        const auto x = random_values(rows * 8, 2);
        std::vector<float> out(rows * 64);
        Calls::count = 0;
        split_multiply(pool, counting, matrix.view(), {x.data(), rows, 8}, out.data(), 64);
        return Calls::count.load();
    };
    EXPECT_EQ(calls_for(1), 1U);
    EXPECT_EQ(calls_for(47), 1U);   // blocks of fewer than 24 rows are too slow
    EXPECT_EQ(calls_for(128), 5U);  // 30 rows, and 8 at the end
}

}  // namespace
}  // namespace stacking::kernels

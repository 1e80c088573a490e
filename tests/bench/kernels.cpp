#include "tests/bench/kernels.hpp"

#include "stacking/kernels/packed_matrix.hpp"
#include "tests/unit/stacking_blocks/random_blocks.hpp"
#include "tests/unit/stacking_kernels/random_values.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace swarm::bench {
namespace {

using stacking::blocks::WeightType;
using stacking::kernels::PackedMatrix;
using stacking::kernels::WeightFormat;
using stacking::kernels::test::random_values;

struct Shape {
    std::size_t outputs;
    std::size_t inputs;
};

/// Matrices of SmolLM2, of 576 columns where blocks of 256 do not fit, and one beyond the caches.
constexpr Shape kShapes[] = {{1536, 512}, {576, 1536}, {2048, 8192}};
constexpr std::size_t kRows[] = {1, 64};
constexpr int kTurns = 9;
constexpr double kProductsPerTurn = 3e7;  // about 2 ms

struct Kept {
    std::string name;
    PackedMatrix matrix;
    double best_ns = 0;
};

std::vector<Kept> all_formats(const Shape& shape) {
    std::vector<Kept> all;
    const auto values = random_values(shape.outputs * shape.inputs, 3);
    for (const auto format : {WeightFormat::Fp32, WeightFormat::Bf16, WeightFormat::Int8}) {
        PackedMatrix matrix(format, shape.outputs, shape.inputs);
        matrix.add_rows(0, values);
        all.push_back({std::string(name_of(format)), std::move(matrix)});
    }
    for (const WeightType type : stacking::blocks::test::kQuantisedTypes) {
        PackedMatrix matrix(type, shape.outputs, shape.inputs);
        const std::size_t blocks = values.size() / block_size(type).values;
        static_cast<void>(
            matrix.add_stored(0, stacking::blocks::test::random_blocks(type, blocks, 1))
        );
        std::string name(name_of(type));
        std::transform(name.begin(), name.end(), name.begin(), [](char letter) {
            return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
        });
        all.push_back({std::move(name), std::move(matrix)});
    }
    return all;
}

double time_product(const PackedMatrix& matrix, std::size_t rows, const std::vector<float>& x) {
    const double products = static_cast<double>(matrix.outputs() * matrix.inputs() * rows);
    const auto calls = static_cast<std::size_t>(std::max(1.0, kProductsPerTurn / products));
    std::vector<float> out(rows * matrix.outputs());
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t call = 0; call < calls; ++call) {
        stacking::kernels::best_kernels().multiply(
            matrix.view(), {x.data(), rows, matrix.inputs()}, out.data(), matrix.outputs()
        );
    }
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    return taken.count() / static_cast<double>(calls) / products;
}

}  // namespace

std::vector<std::pair<std::string, double>> measure_kernels() {
    std::vector<std::pair<std::string, double>> figures;
    for (const Shape& shape : kShapes) {
        std::vector<Kept> all = all_formats(shape);
        for (const std::size_t rows : kRows) {
            const auto x = random_values(rows * shape.inputs, 9);
            for (int turn = 0; turn < kTurns; ++turn) {
                for (Kept& each : all) {
                    const double ns = time_product(each.matrix, rows, x);
                    each.best_ns = turn == 0 ? ns : std::min(each.best_ns, ns);
                }
            }
            for (const Kept& each : all) {
                figures.emplace_back(
                    each.name + "_" + std::to_string(shape.outputs) + "x" +
                        std::to_string(shape.inputs) + "_" + std::to_string(rows),
                    each.best_ns
                );
            }
        }
    }
    return figures;
}

}  // namespace swarm::bench

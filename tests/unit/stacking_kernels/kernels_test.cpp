#include "stacking/kernels/kernels.hpp"

#include "stacking/kernels/exponential.hpp"
#include "stacking/kernels/packed_matrix.hpp"
#include "tests/unit/stacking_kernels/random_values.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace stacking::kernels {
namespace {

using test::random_values;
using test::Shape;

constexpr WeightFormat kFormats[] = {WeightFormat::Fp32, WeightFormat::Bf16, WeightFormat::Int8};

/// Paths that this processor has; the scalar one is always among them.
std::vector<const Kernels*> paths() {
    std::vector<const Kernels*> found;
    for (const Path path : swarm::kCpuPaths) {
        if (const Kernels* const kernels = kernels_of(path)) {
            found.push_back(kernels);
        }
    }
    return found;
}

PackedMatrix random_matrix(WeightFormat format, std::size_t outputs, std::size_t inputs) {
    PackedMatrix matrix(format, outputs, inputs);
    matrix.add_rows(0, random_values(outputs * inputs, 7));
    return matrix;
}

std::vector<float> product(const Kernels& kernels, const PackedMatrix& matrix, const Rows& x) {
    std::vector<float> out(x.count * matrix.outputs());
    kernels.multiply(matrix.view(), x, out.data(), matrix.outputs());
    return out;
}

/// Shapes of whole panels and groups, and with one more or one less of each.
constexpr Shape kEdgeShapes[] = {{1, 1}, {64, 32}, {63, 31}, {65, 33}, {192, 64}, {130, 100}};

TEST(Kernels, EveryPathMultipliesToTheSameBits) {
    for (const WeightFormat format : kFormats) {
        for (const auto& [outputs, inputs] : kEdgeShapes) {
            const PackedMatrix matrix = random_matrix(format, outputs, inputs);
            for (std::size_t rows = 1; rows <= 16; ++rows) {
                const auto x = random_values(rows * inputs, rows);
                const Rows all{x.data(), rows, inputs};
                const auto wanted = product(scalar_kernels(), matrix, all);
                for (const Kernels* const kernels : paths()) {
                    EXPECT_EQ(product(*kernels, matrix, all), wanted)
                        << to_text(kernels->path) << ' ' << name_of(format) << ' ' << outputs << 'x'
                        << inputs << ", " << rows << " rows";
                }
            }
        }
    }
}

TEST(Kernels, ARowOfABatchEqualsTheRowAlone) {
    for (const WeightFormat format : kFormats) {
        const PackedMatrix matrix = random_matrix(format, 130, 100);
        const auto x = random_values(16 * 100, 3);
        for (const Kernels* const kernels : paths()) {
            const auto batch = product(*kernels, matrix, {x.data(), 16, 100});
            for (std::size_t row = 0; row < 16; ++row) {
                const auto alone = product(*kernels, matrix, {x.data() + row * 100, 1, 100});
                const auto of_batch = std::span(batch).subspan(row * 130, 130);
                EXPECT_TRUE(std::ranges::equal(of_batch, alone))
                    << to_text(kernels->path) << ' ' << name_of(format) << " row " << row;
            }
        }
    }
}

TEST(Kernels, MultiplyIsTheSumOfProducts) {
    const PackedMatrix matrix = random_matrix(WeightFormat::Fp32, 65, 100);
    const auto weights = random_values(65 * 100, 7);
    const auto x = random_values(100, 3);
    const auto out = product(best_kernels(), matrix, {x.data(), 1, 100});
    for (std::size_t o = 0; o < 65; ++o) {
        double wanted = 0;
        for (std::size_t k = 0; k < 100; ++k) {
            wanted += double{x[k]} * double{weights[o * 100 + k]};
        }
        EXPECT_NEAR(out[o], wanted, 1e-5) << "output " << o;
    }
}

TEST(Kernels, WritesNothingBesideItsOutputs) {
    const PackedMatrix matrix = random_matrix(WeightFormat::Fp32, 70, 10);
    const auto x = random_values(20, 3);
    for (const Kernels* const kernels : paths()) {
        std::vector<float> out(2 * 80, -1.0F);
        kernels->multiply(matrix.view(), {x.data(), 2, 10}, out.data(), 80);
        for (std::size_t i = 0; i < out.size(); ++i) {
            EXPECT_EQ(out[i] == -1.0F, i % 80 >= 70) << to_text(kernels->path) << ' ' << i;
        }
    }
}

TEST(Kernels, EveryPathNormalisesToTheSameBits) {
    for (const std::size_t width : {1U, 15U, 16U, 17U, 72U, 576U}) {
        const auto x = random_values(width, 1, 3);
        const auto weight = random_values(width, 2);
        for (const Kernels* const kernels : paths()) {
            std::vector<float> wanted(width);
            std::vector<float> out(width);
            scalar_kernels().normalise(x.data(), weight.data(), width, 1e-5F, wanted.data());
            kernels->normalise(x.data(), weight.data(), width, 1e-5F, out.data());
            EXPECT_EQ(out, wanted) << to_text(kernels->path) << ' ' << width;
        }
    }
}

TEST(Kernels, NormaliseDividesByTheRootMeanSquare) {
    const float x[] = {3, -4};
    const float weight[] = {1, 2};
    float out[2];
    best_kernels().normalise(x, weight, 2, 0, out);
    EXPECT_NEAR(out[0], 3 / std::sqrt(12.5), 1e-6);
    EXPECT_NEAR(out[1], -8 / std::sqrt(12.5), 1e-6);
}

TEST(Kernels, EveryPathGatesToTheSameBits) {
    for (const std::size_t count : {1U, 8U, 17U, 100U, 1536U}) {
        const auto up = random_values(count, 2);
        const auto gate =
            random_values(count, 1, 60);  // values beyond both ends of the exponential
        auto wanted = gate;
        scalar_kernels().gate(wanted.data(), up.data(), count);
        for (const Kernels* const kernels : paths()) {
            auto out = gate;
            kernels->gate(out.data(), up.data(), count);
            EXPECT_EQ(out, wanted) << to_text(kernels->path) << ' ' << count;
        }
    }
}

TEST(Kernels, EveryPathGatesByGeluToTheSameBits) {
    for (const std::size_t count : {1U, 8U, 17U, 100U, 1536U}) {
        const auto up = random_values(count, 2);
        const auto gate = random_values(count, 1, 60);
        auto wanted = gate;
        scalar_kernels().gate_gelu(wanted.data(), up.data(), count);
        for (std::size_t i = 0; i < count; ++i) {
            const double x = gate[i];
            const double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
            EXPECT_NEAR(wanted[i], x / 2 * (1 + std::tanh(inner)) * double{up[i]}, 1e-5);
        }
        for (const Kernels* const kernels : paths()) {
            auto out = gate;
            kernels->gate_gelu(out.data(), up.data(), count);
            EXPECT_EQ(out, wanted) << to_text(kernels->path) << ' ' << count;
        }
    }
}

TEST(Kernels, EveryPathCapsToTheSameBits) {
    for (const std::size_t count : {1U, 8U, 17U, 100U}) {
        const auto values = random_values(count, 3, 200);
        auto wanted = values;
        scalar_kernels().soft_cap(wanted.data(), count, 30);
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_NEAR(wanted[i], 30 * std::tanh(double{values[i]} / 30), 1e-5);
        }
        for (const Kernels* const kernels : paths()) {
            auto out = values;
            kernels->soft_cap(out.data(), count, 30);
            EXPECT_EQ(out, wanted) << to_text(kernels->path) << ' ' << count;
        }
    }
}

/// Keys and values of a head in as many pages as its positions need; NaN fills the rest of a page.
struct Pages {
    Pages(std::size_t positions, std::size_t head_width) {
        const std::size_t floats = 2 * head_width * kPagePositions;
        for (std::size_t at = 0; at < positions; at += kPagePositions) {
            owned.push_back(random_values(floats, at + 5));
            for (std::size_t i = 0; i < floats; ++i) {
                const std::size_t place =
                    i < floats / 2 ? i % kPagePositions : (i - floats / 2) / head_width;
                if (at + place >= positions) {
                    owned.back()[i] = std::numeric_limits<float>::quiet_NaN();
                }
            }
        }
        for (const auto& page : owned) {
            pages.push_back(page.data());
        }
        cache = {pages.data(), 0, head_width * kPagePositions, positions, head_width};
    }

    std::vector<std::vector<float>> owned;
    std::vector<const float*> pages;
    HeadCache cache;
};

constexpr std::size_t kQueryGap = 3;  // values between queries, and between answers

/// Answers of `queries` queries, (queries, head width), of which each sees `cache.step` positions
/// more than the one before it.
std::vector<float> attended(
    const Kernels& kernels, const HeadCache& cache, std::size_t queries = 1
) {
    const std::size_t stride = cache.head_width + kQueryGap;
    const auto values = random_values(queries * stride, 11, 3);
    const std::size_t last = cache.positions + (queries - 1) * cache.step;
    std::vector<float> scores(
        queries * ((last + kPagePositions - 1) / kPagePositions) * kPagePositions
    );
    std::vector<float> out(queries * stride, 7);
    kernels.attend(cache, {values.data(), queries, stride}, scores.data(), out.data(), stride);
    std::vector<float> answers;
    for (std::size_t i = 0; i < queries; ++i) {
        const auto* const answer = out.data() + i * stride;
        answers.insert(answers.end(), answer, answer + cache.head_width);
        EXPECT_EQ(
            std::vector<float>(answer + cache.head_width, answer + stride),
            std::vector<float>(kQueryGap, 7)
        );
    }
    return answers;
}

/// Answers of the same queries, each alone.
std::vector<float> attended_one_by_one(
    const Kernels& kernels, const HeadCache& cache, std::size_t queries
) {
    const auto values = random_values(queries * (cache.head_width + kQueryGap), 11, 3);
    std::vector<float> answers(queries * cache.head_width);
    for (std::size_t i = 0; i < queries; ++i) {
        HeadCache own = cache;
        own.positions += i * cache.step;
        std::vector<float> scores(own.positions + kPagePositions);
        kernels.attend(
            own,
            {values.data() + i * (cache.head_width + kQueryGap), 1, 0},
            scores.data(),
            answers.data() + i * cache.head_width,
            0
        );
    }
    return answers;
}

TEST(Kernels, EveryPathAttendsToTheSameBitsAcrossPageEdges) {
    for (const std::size_t head_width : {2U, 12U, 64U, 100U}) {
        for (const std::size_t positions : {1U, 2U, 15U, 16U, 17U, 63U, 64U, 65U, 128U, 200U}) {
            const Pages pages(positions, head_width);
            const auto wanted = attended(scalar_kernels(), pages.cache);
            for (const float value : wanted) {
                EXPECT_TRUE(std::isfinite(value)) << "what is not filled was read";
            }
            for (const Kernels* const kernels : paths()) {
                EXPECT_EQ(attended(*kernels, pages.cache), wanted)
                    << to_text(kernels->path) << ' ' << head_width << ' ' << positions;
            }
        }
    }
}

TEST(Kernels, EveryPathAttendsToTheSameBitsInAWindow) {
    for (const std::size_t positions : {1U, 17U, 64U, 65U, 200U}) {
        for (const std::size_t window : {1U, 2U, 40U, 64U, 65U, 100U}) {
            Pages pages(positions, 12);
            pages.cache.window = window;
            pages.cache.scale = 0.25F;
            pages.cache.soft_cap = 2;
            const auto wanted = attended(scalar_kernels(), pages.cache);
            for (const Kernels* const kernels : paths()) {
                EXPECT_EQ(attended(*kernels, pages.cache), wanted)
                    << to_text(kernels->path) << ' ' << positions << ' ' << window;
            }
        }
    }
}

TEST(Kernels, QueriesTogetherHaveTheBitsOfEachAlone) {
    for (const std::size_t head_width : {12U, 64U, 100U}) {
        for (const std::size_t last : {6U, 64U, 66U, 70U, 131U}) {
            for (const std::size_t window : {0U, 1U, 3U, 64U}) {
                for (std::size_t queries = 1; queries <= kQueriesMax; ++queries) {
                    for (const std::size_t step : {0U, 1U}) {
                        Pages pages(last, head_width);
                        pages.cache.positions = last - (queries - 1) * step;
                        pages.cache.step = step;
                        pages.cache.window = window;
                        const auto wanted =
                            attended_one_by_one(scalar_kernels(), pages.cache, queries);
                        for (const Kernels* const kernels : paths()) {
                            EXPECT_EQ(attended(*kernels, pages.cache, queries), wanted)
                                << to_text(kernels->path) << ' ' << head_width << ' ' << last << ' '
                                << window << ' ' << queries << ' ' << step;
                        }
                    }
                }
            }
        }
    }
}

TEST(Kernels, AWindowOfOnePositionGivesItsValues) {
    Pages pages(70, 12);
    pages.cache.window = 1;
    const auto out = attended(best_kernels(), pages.cache);
    const float* const values = pages.pages[1] + pages.cache.values + 5 * 12;
    for (std::size_t d = 0; d < 12; ++d) {
        EXPECT_EQ(out[d], values[d]);
    }
}

TEST(Kernels, AttendIsTheSoftmaxMean) {
    const Pages pages(70, 12);
    const auto query = random_values(12 + kQueryGap, 11, 3);
    std::vector<double> mean(12);
    double sum = 0;
    for (std::size_t at = 0; at < 70; ++at) {
        const float* const page = pages.pages[at / kPagePositions];
        double score = 0;
        for (std::size_t d = 0; d < 12; ++d) {
            score += double{query[d]} * double{page[d * kPagePositions + at % kPagePositions]};
        }
        const double weight = std::exp(score / std::sqrt(12.0));
        sum += weight;
        for (std::size_t d = 0; d < 12; ++d) {
            mean[d] += weight * double{page[pages.cache.values + at % kPagePositions * 12 + d]};
        }
    }
    const auto out = attended(best_kernels(), pages.cache);
    for (std::size_t d = 0; d < 12; ++d) {
        EXPECT_NEAR(out[d], mean[d] / sum, 1e-5) << "dimension " << d;
    }
}

TEST(Kernels, NaNSpoilsItsOwnRowAlone) {
    const PackedMatrix matrix = random_matrix(WeightFormat::Int8, 65, 33);
    auto x = random_values(3 * 33, 3);
    const auto good = product(best_kernels(), matrix, {x.data(), 3, 33});
    x[33 + 5] = std::numeric_limits<float>::quiet_NaN();
    for (const Kernels* const kernels : paths()) {
        const auto out = product(*kernels, matrix, {x.data(), 3, 33});
        for (std::size_t i = 0; i < out.size(); ++i) {
            if (i / 65 == 1) {
                EXPECT_TRUE(std::isnan(out[i])) << to_text(kernels->path);
            } else {
                EXPECT_EQ(out[i], good[i]) << to_text(kernels->path);
            }
        }
    }
}

TEST(Exponential, IsCloseToTheMathematicalOne) {
    for (float x = -87; x < 88; x += 0.0371F) {
        const double wanted = std::exp(double{x});
        EXPECT_NEAR(exponential(x) / wanted, 1, 0x1p-22) << x;
    }
    EXPECT_EQ(exponential(0), 1.0F);
}

TEST(Exponential, HasEndsAndKeepsNaN) {
    EXPECT_EQ(exponential(-88), 0.0F);
    EXPECT_EQ(exponential(-INFINITY), 0.0F);
    EXPECT_EQ(exponential(INFINITY), exponential(88));
    EXPECT_TRUE(std::isfinite(exponential(88)));
    EXPECT_TRUE(std::isnan(exponential(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace stacking::kernels

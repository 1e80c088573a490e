// Averages by Fisher information of small models whose values are awkward.
#include "stacking/models/averages/fisher_average.hpp"

#include "stacking/models/averages/model_average.hpp"
#include "swarm/base/rng.hpp"
#include "tests/unit/stacking_models/awkward_models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace stacking::models {
namespace {

using swarm::ErrorCode;
using swarm::run::TensorSpec;
using test::expect_same_bits;
using test::model_of;
using test::Shared;

/// All tensors of the tied models but the head.
std::vector<TensorSpec> tensors() {
    auto all = tensors_of(model_of(1)->architecture());
    all.pop_back();
    return all;
}

std::uint64_t elements() {
    std::uint64_t count = 0;
    for (const TensorSpec& tensor : tensors()) {
        count += tensor.elements();
    }
    return count;
}

/// Squares as gradients have them: of many orders of magnitude, and some are 0.
std::vector<float> squares(std::uint64_t seed) {
    swarm::Rng rng(seed, 3);
    std::vector<float> values(elements());
    std::ranges::generate(values, [&] {
        return rng.below(5) == 0 ? 0.0F : static_cast<float>(std::pow(10, -40 * rng.unit()));
    });
    return values;
}

FisherAverage average(std::vector<FisherPart> parts) {
    auto made = fisher_average_of(std::move(parts), tensors());
    EXPECT_TRUE(made.has_value()) << made.error().detail;
    return std::move(*made);
}

/// The values of all tensors but the head, one after the other.
std::vector<float> values_of(const ModelSource& model) {
    std::vector<float> all;
    for (const TensorSpec& tensor : tensors()) {
        const std::vector<float> own = *model.read(tensor.name);
        all.insert(all.end(), own.begin(), own.end());
    }
    return all;
}

TEST(FisherAverage, CopiesAverageToTheBitsOfTheCopy) {
    const Shared model = model_of(1);
    for (const std::size_t copies : {1U, 2U, 3U, 7U, 64U}) {
        expect_same_bits(
            average(std::vector<FisherPart>(copies, {model, squares(9)})).model, *model
        );
    }
    expect_same_bits(
        average({{model, squares(1)}, {model, squares(2)}, {model, squares(3)}}).model, *model
    );
}

TEST(FisherAverage, EqualInformationGivesTheBitsOfEqualWeights) {
    const std::vector<Shared> models{model_of(1), model_of(2), model_of(3)};
    const auto uniform = average_of({{models[0]}, {models[1]}, {models[2]}});
    ASSERT_TRUE(uniform.has_value());
    for (const float everywhere : {1.0F, 3e-39F, 0.0F}) {
        const std::vector<float> equal(elements(), everywhere);
        const auto made = average({{models[0], equal}, {models[1], equal}, {models[2], equal}});
        expect_same_bits(made.model, *uniform);
        for (const double weight : made.mean_weights) {
            EXPECT_NEAR(weight, 1.0 / 3, 1e-12);
        }
    }
    const auto same =
        average({{models[0], squares(4)}, {models[1], squares(4)}, {models[2], squares(4)}});
    expect_same_bits(same.model, *uniform);
}

TEST(FisherAverage, AValueCountsAsMuchAsTheInformationAboutIt) {
    const std::vector<Shared> models{model_of(1), model_of(2)};
    const std::vector<std::vector<float>> diagonals{squares(1), squares(2)};
    const auto made = average({{models[0], diagonals[0]}, {models[1], diagonals[1]}});
    const std::vector<float> found = values_of(made.model);
    const std::vector<float> one = values_of(*models[0]);
    const std::vector<float> other = values_of(*models[1]);
    std::uint64_t begin = 0;
    double weights = 0;
    for (const TensorSpec& tensor : tensors()) {
        const std::uint64_t end = begin + tensor.elements();
        double mean = 0;
        for (std::uint64_t k = begin; k < end; ++k) {
            mean += static_cast<double>(diagonals[0][k]) + static_cast<double>(diagonals[1][k]);
        }
        mean /= 2 * static_cast<double>(tensor.elements());
        const double floor = std::exp2(std::floor(std::log2(kFisherFloor * mean)));
        for (std::uint64_t k = begin; k < end; ++k) {
            const double first = std::max<double>(diagonals[0][k], floor);
            const double second = std::max<double>(diagonals[1][k], floor);
            const double wanted =
                (first * static_cast<double>(one[k]) + second * static_cast<double>(other[k])) /
                (first + second);
            const double size = std::max(std::abs(one[k]), std::abs(other[k]));
            EXPECT_NEAR(found[k], wanted, std::abs(wanted) * 6.0e-8 + size * 1e-15 + 1e-45)
                << tensor.name;
            EXPECT_GE(found[k], std::min(one[k], other[k]));
            EXPECT_LE(found[k], std::max(one[k], other[k]));
            weights += first / (first + second);
        }
        begin = end;
    }
    EXPECT_NEAR(made.mean_weights[0], weights / static_cast<double>(found.size()), 1e-9);
    EXPECT_NEAR(made.mean_weights[0] + made.mean_weights[1], 1, 1e-12);
    EXPECT_EQ(made.model.architecture().model.context, 65U) << "the shortest";
}

TEST(FisherAverage, AValueThatNoGradientReachesIsTheUniformMean) {
    const std::vector<Shared> models{model_of(1), model_of(2), model_of(3)};
    const std::vector<std::vector<float>> values{
        values_of(*models[0]), values_of(*models[1]), values_of(*models[2])};
    std::vector<std::size_t> usual;  // values of the usual size that differ
    for (std::size_t k = 0; usual.size() < 3; ++k) {
        const auto is_usual = [&](const std::vector<float>& own) {
            return std::abs(own[k]) > 0.1F && std::abs(own[k]) <= 1;
        };
        if (std::ranges::all_of(values, is_usual) && std::abs(values[0][k] - values[2][k]) > 0.1F) {
            usual.push_back(k);
        }
    }
    std::vector<std::vector<float>> diagonals;
    for (const float everywhere : {1e-6F, 1e-6F, 4e-6F}) {
        diagonals.emplace_back(elements(), everywhere);
    }
    for (std::vector<float>& diagonal : diagonals) {
        diagonal[usual[0]] = 0;
    }
    diagonals[0][usual[1]] = diagonals[1][usual[1]] = 0;
    const std::vector<float> found = values_of(
        average({{models[0], diagonals[0]}, {models[1], diagonals[1]}, {models[2], diagonals[2]}}
        ).model
    );
    const auto uniform = average_of({{models[0]}, {models[1]}, {models[2]}});
    ASSERT_TRUE(uniform.has_value());
    const std::vector<float> mean = values_of(*uniform);
    EXPECT_EQ(found[usual[0]], mean[usual[0]]) << "no member knows";
    EXPECT_NEAR(found[usual[1]], values[2][usual[1]], 1e-5F) << "one member knows";
    EXPECT_GT(std::abs(found[usual[2]] - mean[usual[2]]), 1e-3F) << "all know, one knows more";
}

TEST(FisherAverage, AnyRowsAreThoseOfTheWhole) {
    const auto made = average({{model_of(1), squares(1)}, {model_of(2), squares(2)}});
    for (const char* const name : {"embed.weight", "layers.1.attn.wq"}) {
        const std::vector<float> whole = *made.model.read(name);
        std::vector<float> rows(2 * 32);
        ASSERT_TRUE(made.model.read_rows(name, {3, 2}, rows).has_value());
        EXPECT_TRUE(std::ranges::equal(rows, std::span(whole).subspan(3 * 32, 2 * 32))) << name;
    }
    EXPECT_EQ(*made.model.read("head.weight"), *made.model.read("embed.weight")) << "tied";
}

TEST(FisherAverage, ModelsThatDifferAndTensorsWithoutInformationAreRefused) {
    const auto other =
        fisher_average_of({{model_of(1), squares(1)}, {model_of(2, 3), squares(2)}}, tensors());
    ASSERT_TRUE(other.has_error());
    EXPECT_EQ(other.error().detail, "members of an average differ in layers: 3 and 2");
    auto fewer = tensors();
    std::vector<float> shorter = squares(1);
    shorter.resize(shorter.size() - fewer.back().elements());
    fewer.pop_back();
    const auto lacking = fisher_average_of({{model_of(1), shorter}}, fewer);
    ASSERT_TRUE(lacking.has_error());
    EXPECT_EQ(lacking.error().code, ErrorCode::Mismatch);
    EXPECT_EQ(lacking.error().detail, "no Fisher information about the tensor head.norm");
}

}  // namespace
}  // namespace stacking::models

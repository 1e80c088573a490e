// Averages of small models.
#include "stacking/models/averages/model_average.hpp"
#include "stacking/models/averages/model_difference.hpp"
#include "stacking/models/hf_folder.hpp"
#include "tests/unit/stacking_models/awkward_models.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace stacking::models {
namespace {

using swarm::ErrorCode;
using test::expect_same_bits;
using test::kQ8;
using test::model_of;
using test::Shared;

TEST(ModelAverage, CopiesAverageToTheBitsOfTheCopy) {
    const Shared model = model_of(1);
    for (const std::size_t copies : {1U, 2U, 3U, 7U, 10U, 64U}) {
        const auto average = average_of(std::vector<AveragePart>(copies, {model}));
        ASSERT_TRUE(average.has_value()) << average.error().detail;
        expect_same_bits(*average, *model);
    }
    const auto uneven = average_of({{model, 0.1}, {model, 0.7}, {model, 1e-9}});
    ASSERT_TRUE(uneven.has_value());
    expect_same_bits(*uneven, *model);
}

TEST(ModelAverage, AMemberOfWeight0ChangesNoBit) {
    const Shared model = model_of(1);
    const Shared other = model_of(2);
    expect_same_bits(*average_of({{model, 1}, {other, 0}}), *model);
    expect_same_bits(*average_of({{other, 0}, {model, 0.3}, {other, 0}}), *model);
}

TEST(ModelAverage, IsTheSumInFloat64RoundedOnce) {
    const std::vector<Shared> models{model_of(1), model_of(2), model_of(3)};
    const std::vector<double> weights{0.2, 0.5, 0.3};
    const auto average = average_of({{models[0], 2}, {models[1], 5}, {models[2], 3}});
    ASSERT_TRUE(average.has_value()) << average.error().detail;
    for (const auto& [name, tensor] : average->tensors()) {
        const std::vector<float> found = *average->read(name);
        std::vector<double> sums(found.size(), 0);
        std::vector<float> least(found.size(), std::numeric_limits<float>::max());
        std::vector<float> most(found.size(), std::numeric_limits<float>::lowest());
        for (std::size_t i = 0; i < models.size(); ++i) {
            const std::vector<float> own = *models[i]->read(name);
            for (std::size_t k = 0; k < own.size(); ++k) {
                sums[k] += weights[i] * static_cast<double>(own[k]);
                least[k] = std::min(least[k], own[k]);
                most[k] = std::max(most[k], own[k]);
            }
        }
        for (std::size_t k = 0; k < found.size(); ++k) {
            const double sum = sums[k];
            // A rounding of float64 more or less moves a sum near the middle of two floats alone.
            EXPECT_NEAR(found[k], sum, std::abs(sum) * 6.0e-8 + 1e-45) << name;
            EXPECT_GE(found[k], least[k]);
            EXPECT_LE(found[k], most[k]);
        }
    }
    EXPECT_EQ(average->architecture().model.context, 65U) << "the shortest";
}

TEST(ModelAverage, AQuantisedMemberCountsAsFp32) {
    const Shared quantised = model_of(1, 2, kQ8);
    const Shared plain = model_of(2);
    const auto average = average_of({{quantised}, {plain}});
    ASSERT_TRUE(average.has_value()) << average.error().detail;
    const std::vector<float> one = *quantised->read("layers.1.mlp.w1");
    const std::vector<float> other = *plain->read("layers.1.mlp.w1");
    const std::vector<float> found = *average->read("layers.1.mlp.w1");
    EXPECT_EQ(average->tensors().find("layers.1.mlp.w1")->second.type, WeightType::F32);
    for (std::size_t k = 0; k < found.size(); ++k) {
        const double sum = 0.5 * static_cast<double>(one[k]) + 0.5 * static_cast<double>(other[k]);
        EXPECT_EQ(found[k], static_cast<float>(sum));
    }
}

TEST(ModelAverage, AnyRowsAndBytesAreThoseOfTheWhole) {
    const auto average = average_of({{model_of(1)}, {model_of(2)}});
    ASSERT_TRUE(average.has_value());
    const std::vector<float> whole = *average->read("layers.0.attn.wq");
    std::vector<float> rows(3 * 32);
    ASSERT_TRUE(average->read_rows("layers.0.attn.wq", {13, 3}, rows).has_value());
    EXPECT_TRUE(std::ranges::equal(rows, std::span(whole).subspan(13 * 32, 3 * 32)));
    const StoredTensor& tensor = average->tensors().find("layers.0.attn.wq")->second;
    const auto bytes = std::as_bytes(std::span(whole));
    for (const std::size_t from : {0U, 1U, 127U, 128U, 129U, 4000U}) {
        std::vector<std::byte> some(std::min<std::size_t>(321, bytes.size() - from));
        ASSERT_TRUE(average->read_stored(tensor, from, some).has_value());
        EXPECT_TRUE(std::ranges::equal(some, bytes.subspan(from, some.size()))) << from;
    }
}

TEST(ModelAverage, IsWrittenAsAFolderThatHoldsTheSame) {
    const stages::test::ScratchFolder scratch;
    const auto average = average_of({{model_of(1), 3}, {model_of(2), 1}});
    ASSERT_TRUE(average.has_value());
    const auto quiet = [](std::uint64_t /*written*/, std::uint64_t /*all*/) {};
    ASSERT_TRUE(write_hf_folder(*average, scratch.path() / "average", quiet).has_value());
    const auto folder = open_hf_folder(scratch.path() / "average");
    ASSERT_TRUE(folder.has_value()) << folder.error().detail;
    expect_same_bits(*folder, *average);
    EXPECT_TRUE(folder->architecture().tied_embeddings);
    EXPECT_EQ(difference_of(folder->architecture(), average->architecture()), std::nullopt)
        << "a folder has the numbers of the GGUF";
}

TEST(ModelAverage, WeightsThatMeanNothingAreRefused) {
    const Shared model = model_of(1);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double bad : {nan, infinity, -infinity, -0.5}) {
        const auto average = average_of({{model, 1}, {model, bad}});
        ASSERT_TRUE(average.has_error()) << bad;
        EXPECT_EQ(average.error().code, ErrorCode::Usage);
    }
    EXPECT_EQ(average_of({{model, 0}, {model, 0}}).error().code, ErrorCode::Usage);
    const double huge = std::numeric_limits<double>::max();
    EXPECT_EQ(*normalised(std::vector{huge, huge}), (std::vector{0.5, 0.5}));
    EXPECT_EQ(*normalised(std::vector{3.0, 0.0, 1.0}), (std::vector{0.75, 0.0, 0.25}));
}

TEST(ModelAverage, ModelsOfOtherShapesAreRefusedByTheDifference) {
    const auto average = average_of({{model_of(1)}, {model_of(2, 3)}});
    ASSERT_TRUE(average.has_error());
    EXPECT_EQ(average.error().code, ErrorCode::Mismatch);
    EXPECT_EQ(average.error().detail, "members of an average differ in layers: 3 and 2");
}

/// Each change is of one number or trait, and the difference names it.
TEST(ModelDifference, NamesEachThingThatTheComputationFollowsFrom) {
    const Architecture plain = model_of(1)->architecture();
    const auto named = [&](auto change) {
        Architecture other = plain;
        change(other);
        const auto found = difference_of(plain, other);
        EXPECT_NE(found, std::nullopt);
        return found ? found->what : "";
    };
    EXPECT_EQ(difference_of(plain, plain), std::nullopt);
    EXPECT_EQ(named([](Architecture& a) { a.traits.family = "mistral"; }), "family");
    EXPECT_EQ(named([](Architecture& a) { a.model.layers = 3; }), "layers");
    EXPECT_EQ(named([](Architecture& a) { a.model.width = 64; }), "width");
    EXPECT_EQ(named([](Architecture& a) { a.model.kv_heads = 2; }), "key/value heads");
    EXPECT_EQ(named([](Architecture& a) { a.model.ffn_width = 7; }), "feed-forward width");
    EXPECT_EQ(named([](Architecture& a) { a.model.vocabulary = 7; }), "vocabulary");
    EXPECT_EQ(
        named([](Architecture& a) { a.tied_embeddings = false; }), "head tied to the embedding"
    );
    EXPECT_EQ(named([](Architecture& a) { a.traits.experts.count = 4; }), "experts");
    EXPECT_EQ(
        named([](Architecture& a) { a.traits.norms = NormPlace::After; }), "place of the norms"
    );
    EXPECT_EQ(
        named([](Architecture& a) { a.traits.query_key_value_bias = true; }), "biases of q, k and v"
    );
    EXPECT_EQ(
        named([](Architecture& a) { a.traits.activation = Activation::GeluTanh; }), "activation"
    );
    EXPECT_EQ(named([](Architecture& a) { a.model.norm_epsilon = 1e-6; }), "norm epsilon");
    EXPECT_EQ(named([](Architecture& a) { a.model.rope_base = 1e4; }), "rope base");
    EXPECT_EQ(named([](Architecture& a) { a.traits.logit_soft_cap = 30; }), "soft cap of logits");
    EXPECT_EQ(named([](Architecture& a) { a.traits.embedding_scale = 2; }), "embedding scale");
    const auto linear = [](Architecture& a) { a.traits.rope = {RopeScaling::Kind::Linear, 2}; };
    EXPECT_EQ(named(linear), "rope scaling");
    const auto windows = [](std::uint32_t window) {
        return [=](Architecture& a) { a.traits.layers = {{}, {window}}; };
    };
    EXPECT_EQ(named(windows(64)), "attention of layer 1");
}

TEST(ModelDifference, OverlooksWhatChangesNoAnswer) {
    const Architecture plain = model_of(1)->architecture();
    Architecture other = plain;
    other.name = "another";
    other.model.context = 4096;
    other.end_tokens = {1};
    other.begin_token = 3;
    other.traits.head_width = 16;                        // width / heads
    other.model.norm_epsilon = 1e-5;                     // the GGUF has the nearest float
    other.traits.rope = {RopeScaling::Kind::Linear, 1};  // by 1
    other.traits.layers = {{}, {plain.model.context}};   // a window as long as the context
    EXPECT_EQ(difference_of(plain, other), std::nullopt);
    EXPECT_EQ(difference_of(other, plain), std::nullopt);
}

}  // namespace
}  // namespace stacking::models

// Mixtures of small models.
#include "stacking/models/averages/computed_model.hpp"
#include "stacking/models/averages/model_average.hpp"
#include "stacking/models/averages/model_mixture.hpp"
#include "stacking/models/hf_folder.hpp"
#include "stacking/models/training/trained_model.hpp"
#include "tests/unit/stacking_models/awkward_models.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace stacking::models {
namespace {

using swarm::ErrorCode;
using test::bits_of;
using test::model_of;
using test::Shared;

ModelSource mixture(std::vector<Shared> members, const MixtureSettings& settings) {
    auto made = mixture_of(std::move(members), settings);
    EXPECT_TRUE(made.has_value()) << made.error().detail;
    return std::move(*made);
}

TEST(ModelMixture, HasThePartsOfTheMembersAndTheAverageOfTheRest) {
    const std::vector<Shared> members{model_of(1), model_of(2), model_of(3)};
    const ModelSource mixed = mixture(members, {2, 1, 1});
    const auto average = average_of({{members[0]}, {members[1]}, {members[2]}});
    ASSERT_TRUE(average.has_value());
    for (const auto& [name, tensor] : average->tensors()) {
        if (name.find(".mlp.") == std::string::npos) {
            EXPECT_EQ(bits_of(*mixed.read(name)), bits_of(*average->read(name))) << name;
            continue;
        }
        for (std::size_t expert = 0; expert < members.size(); ++expert) {
            std::string own = name;
            own.replace(own.find("mlp."), 4, "moe." + std::to_string(expert) + ".");
            EXPECT_EQ(bits_of(*mixed.read(own)), bits_of(*members[expert]->read(name))) << own;
        }
    }
    const Experts& experts = mixed.architecture().traits.experts;
    EXPECT_EQ(experts, (Experts{3, 2, true, 0}));
    EXPECT_EQ(mixed.architecture().traits.family, "mixtral");
    EXPECT_TRUE(mixed.architecture().tied_embeddings);
}

TEST(ModelMixture, CopiesOfAMemberAreNextToEachOther) {
    const std::vector<Shared> members{model_of(1), model_of(2)};
    const ModelSource mixed = mixture(members, {1, 2, 1});
    for (const std::uint32_t expert : {0U, 1U, 2U, 3U}) {
        const std::string name = "layers.1.moe." + std::to_string(expert) + ".w2";
        EXPECT_EQ(
            bits_of(*mixed.read(name)), bits_of(*members[expert / 2]->read("layers.1.mlp.w2"))
        );
    }
    EXPECT_EQ(mixed.architecture().traits.experts.count, 4U);
}

TEST(ModelMixture, RoutersFollowFromTheSeedAndTheLayer) {
    const Shared member = model_of(1);
    const auto router = [&](std::uint64_t seed, int layer) {
        const ModelSource mixed = mixture({member}, {2, 4, seed});
        return *mixed.read("layers." + std::to_string(layer) + ".moe.router");
    };
    EXPECT_EQ(router(1, 0), router(1, 0));
    EXPECT_NE(router(1, 0), router(1, 1));
    EXPECT_NE(router(1, 0), router(2, 0));
    double squares = 0;
    const std::vector<float> drawn = router(1, 0);
    for (const float value : drawn) {
        squares += static_cast<double>(value) * value;
    }
    EXPECT_NEAR(std::sqrt(squares / static_cast<double>(drawn.size())), 0.02, 0.004);
    const ModelSource mixed = mixture({member}, {2, 4, 1});
    std::vector<float> row(32);
    ASSERT_TRUE(mixed.read_rows("layers.0.moe.router", {2, 1}, row).has_value());
    EXPECT_TRUE(std::ranges::equal(row, std::span(drawn).subspan(2 * 32, 32)));
}

TEST(ModelMixture, IsWrittenAsAFolderThatIsTrainedAsAMixtral) {
    const stages::test::ScratchFolder scratch;
    const ModelSource mixed = mixture({model_of(1), model_of(2)}, {2, 1, 5});
    const auto quiet = [](std::uint64_t /*written*/, std::uint64_t /*all*/) {};
    ASSERT_TRUE(write_hf_folder(mixed, scratch.path() / "mixed", quiet).has_value());
    const auto folder = open_hf_folder(scratch.path() / "mixed");
    ASSERT_TRUE(folder.has_value()) << folder.error().detail;
    for (const auto& [name, tensor] : mixed.tensors()) {
        EXPECT_EQ(bits_of(*folder->read(name)), bits_of(*mixed.read(name))) << name;
    }
    const auto trained = as_trained(folder->architecture());
    ASSERT_TRUE(trained.has_value()) << trained.error().detail;
    EXPECT_EQ(trained->kind, swarm::run::ModelKind::Mixtral);
    EXPECT_EQ(trained->experts, 2U);
    EXPECT_EQ(as_served(*trained).traits.experts, mixed.architecture().traits.experts);
}

/// A member of this kind whose values follow from the seed and their places.
Shared member_of(swarm::run::ModelKind kind, std::uint64_t seed) {
    swarm::run::ModelConfig shape;
    shape.kind = kind;
    shape.layers = 2;
    shape.width = 16;
    shape.heads = 2;
    shape.kv_heads = 1;
    shape.head_width = 12;
    shape.ffn_width = 24;
    auto model = computed_model(
        as_served(shape),
        [seed](
            std::string_view /*tensor*/, RowRange rows, std::span<float> values
        ) -> swarm::Result<> {
            const std::uint64_t first = rows.first * (values.size() / rows.count);
            for (std::size_t i = 0; i < values.size(); ++i) {
                values[i] = static_cast<float>((seed + first + i) % 17) / 16;
            }
            return {};
        }
    );
    EXPECT_TRUE(model.has_value()) << model.error().detail;
    return std::make_shared<const ModelSource>(std::move(*model));
}

TEST(ModelMixture, MembersOfQwen3BecomeAQwen3Moe) {
    using swarm::run::ModelKind;
    const stages::test::ScratchFolder scratch;
    const std::vector<Shared> members{
        member_of(ModelKind::Qwen3, 1), member_of(ModelKind::Qwen3, 6)};
    const ModelSource mixed = mixture(members, {2, 1, 5});
    EXPECT_EQ(mixed.architecture().traits.family, "qwen3_moe");
    EXPECT_EQ(mixed.read("layers.1.attn.q_norm")->size(), 12U);
    EXPECT_EQ(
        bits_of(*mixed.read("layers.1.moe.1.w3")), bits_of(*members[1]->read("layers.1.mlp.w3"))
    );
    const auto quiet = [](std::uint64_t /*written*/, std::uint64_t /*all*/) {};
    ASSERT_TRUE(write_hf_folder(mixed, scratch.path() / "mixed", quiet).has_value());
    const auto folder = open_hf_folder(scratch.path() / "mixed");
    ASSERT_TRUE(folder.has_value()) << folder.error().detail;
    test::expect_same_bits(*folder, mixed);
    EXPECT_EQ(folder->architecture().traits, mixed.architecture().traits);
    const auto trained = as_trained(folder->architecture());
    ASSERT_TRUE(trained.has_value()) << trained.error().detail;
    EXPECT_EQ(trained->kind, ModelKind::Qwen3Moe);
    EXPECT_EQ(trained->experts, 2U);
}

TEST(ModelMixture, RefusesMembersOfQwen2ByTheirMixture) {
    const auto made = mixture_of({member_of(swarm::run::ModelKind::Qwen2, 1)}, {1, 2, 1});
    ASSERT_TRUE(made.has_error());
    EXPECT_EQ(made.error().code, ErrorCode::Unsupported);
    EXPECT_NE(made.error().detail.find("qwen2_moe"), std::string::npos) << made.error().detail;
}

TEST(ModelMixture, RefusesWhatCannotBeMixed) {
    const Shared member = model_of(1);
    const auto refusal = [](std::vector<Shared> members, const MixtureSettings& settings) {
        const auto made = mixture_of(std::move(members), settings);
        EXPECT_TRUE(made.has_error());
        return made.has_error() ? made.error() : swarm::Error{};
    };
    EXPECT_EQ(refusal({member, model_of(2, 3)}, {2, 1, 1}).code, ErrorCode::Mismatch);
    EXPECT_EQ(refusal({member}, {2, 1, 1}).code, ErrorCode::Usage) << "two of one expert";
    EXPECT_EQ(refusal({member}, {0, 1, 1}).code, ErrorCode::Usage);
    EXPECT_EQ(refusal({member}, {2, 1025, 1}).code, ErrorCode::Usage);
    EXPECT_EQ(refusal({member}, {2, 1024, 1}).code, ErrorCode::Unsupported) << "tensors";
    const auto mixed = std::make_shared<const ModelSource>(mixture({member}, {1, 2, 1}));
    const swarm::Error error = refusal({mixed}, {1, 1, 1});
    EXPECT_EQ(error.code, ErrorCode::Unsupported);
    EXPECT_NE(error.detail.find("mixtral"), std::string::npos) << error.detail;
}

}  // namespace
}  // namespace stacking::models

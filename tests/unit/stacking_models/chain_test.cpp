// Layers of small models as one model.
#include "stacking/models/averages/model_chain.hpp"
#include "tests/unit/stacking_models/awkward_models.hpp"

#include <gtest/gtest.h>

namespace stacking::models {
namespace {

using swarm::ErrorCode;
using test::bits_of;
using test::model_of;
using test::Shared;

ModelSource chain(std::vector<ChainPart> parts) {
    auto made = chain_of(std::move(parts));
    EXPECT_TRUE(made.has_value()) << made.error().detail;
    return std::move(*made);
}

TEST(ModelChain, CutsOfAModelAreTheModel) {
    const Shared model = model_of(1, 5);
    const ModelSource whole = chain({{model, 0, 2}, {model, 2, 3}, {model, 3, 5}});
    ASSERT_EQ(whole.tensors().size(), model->tensors().size());
    for (const auto& [name, tensor] : model->tensors()) {
        EXPECT_EQ(bits_of(*whole.read(name)), bits_of(*model->read(name))) << name;
    }
    EXPECT_TRUE(whole.architecture().tied_embeddings);
    EXPECT_EQ(whole.architecture().model.layers, 5U);
}

TEST(ModelChain, HasTheLayersOfItsPartsAndTheirEnds) {
    const Shared first = model_of(1, 2);
    const Shared second = model_of(2, 4);
    const ModelSource both = chain({{first, 0, 2}, {second, 1, 4}, {first, 1, 2}});
    EXPECT_EQ(both.architecture().model.layers, 6U);
    EXPECT_EQ(both.architecture().model.context, 65U) << "the shortest";
    const std::pair<Shared, int> origin[] = {
        {first, 0}, {first, 1}, {second, 1}, {second, 2}, {second, 3}, {first, 1}};
    for (int layer = 0; layer < 6; ++layer) {
        for (const char* const part : {".attn.wq", ".mlp_norm", ".mlp.w2"}) {
            const auto& [model, own] = origin[layer];
            EXPECT_EQ(
                bits_of(*both.read("layers." + std::to_string(layer) + part)),
                bits_of(*model->read("layers." + std::to_string(own) + part))
            ) << layer
              << part;
        }
    }
    EXPECT_TRUE(both.architecture().tied_embeddings) << "the ends are one model";
    const ModelSource apart = chain({{first, 0, 2}, {second, 0, 4}});
    EXPECT_FALSE(apart.architecture().tied_embeddings);
    EXPECT_EQ(bits_of(*apart.read("embed.weight")), bits_of(*first->read("embed.weight")));
    EXPECT_EQ(bits_of(*apart.read("head.weight")), bits_of(*second->read("head.weight")));
    EXPECT_EQ(bits_of(*apart.read("head.norm")), bits_of(*second->read("head.norm")));
}

TEST(ModelChain, ModelsWithOneEmbeddingStayTied) {
    const Shared model = model_of(1, 2);
    const Shared copy = model_of(1, 2);
    EXPECT_TRUE(chain({{model, 0, 2}, {copy, 1, 2}}).architecture().tied_embeddings);
}

TEST(ModelChain, RefusesTooManyLayers) {
    const Shared model = model_of(1, 2);
    const auto made = chain_of(std::vector<ChainPart>(1000, {model, 0, 2}));
    ASSERT_TRUE(made.has_error());
    EXPECT_EQ(made.error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace stacking::models

#include "stacking/models/model_digest.hpp"

#include "stacking/models/gguf_model.hpp"
#include "tests/unit/stacking_models/small_gguf.hpp"

#include <gtest/gtest.h>

namespace stacking::models {
namespace {

ModelSource open(const test::GgufBuilder& file) {
    auto model = open_gguf(std::make_unique<MemoryBytes>(file.bytes()));
    EXPECT_TRUE(model) << (model ? "" : model.error().detail);
    return std::move(*model);
}

/// The small model with one changed byte. `from_end`: its distance from the end of the file.
ModelSource changed(std::size_t from_end) {
    std::vector<std::byte> bytes = test::small_gguf().bytes();
    bytes[bytes.size() - from_end] ^= std::byte{1};
    return *open_gguf(std::make_unique<MemoryBytes>(std::move(bytes)));
}

swarm::Digest digest(const ModelSource& model, std::uint32_t first, std::uint32_t end) {
    return *digest_of(model, layers_of(model.architecture(), first, end));
}

TEST(ModelDigest, IsTheSameForTheSameFile) {
    EXPECT_EQ(*identity_of(open(test::small_gguf())), *identity_of(open(test::small_gguf())));
}

TEST(ModelDigest, NamesModelsThatWereTrainedApart) {
    const ModelSource model = open(test::small_gguf());
    EXPECT_NE(*identity_of(model), *identity_of(changed(1)));  // a byte of the last norm
}

TEST(ModelDigest, ADigestOfLayersSeesEveryByteOfThemAndNoOther) {
    const ModelSource model = open(test::small_gguf());
    const std::size_t norm_bytes = 8 * sizeof(float);
    const ModelSource other = changed(norm_bytes + 1 + 200);  // a byte of layer 1's last matrix
    EXPECT_EQ(*identity_of(model), *identity_of(other));      // the byte lies beyond the sample
    EXPECT_EQ(digest(model, 0, 1), digest(other, 0, 1));
    EXPECT_NE(digest(model, 1, 2), digest(other, 1, 2));
    EXPECT_NE(digest(model, 0, 2), digest(other, 0, 2));
}

TEST(ModelDigest, OtherLayersHaveAnotherDigest) {
    const ModelSource model = open(test::small_gguf());
    EXPECT_NE(digest(model, 0, 1), digest(model, 1, 2));
    EXPECT_NE(digest(model, 0, 1), digest(model, 0, 2));
}

TEST(LayersOf, EqualsASplitWithTheSameBounds) {
    const Architecture architecture = open(test::small_gguf()).architecture();
    const auto halves = split(architecture, 2);
    for (const auto& [layers, same] :
         {std::pair(layers_of(architecture, 0, 1), halves[0]),
          std::pair(layers_of(architecture, 1, 2), halves[1]),
          std::pair(layers_of(architecture, 0, 2), split(architecture, 1)[0])}) {
        EXPECT_EQ(layers.first_layer, same.first_layer);
        EXPECT_EQ(layers.layers, same.layers);
        EXPECT_EQ(layers.has_embedding, same.has_embedding);
        EXPECT_EQ(layers.has_head, same.has_head);
        EXPECT_EQ(layers.tensors, same.tensors);
    }
}

}  // namespace
}  // namespace stacking::models

#include "swarm/run/training/weight_decay.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace swarm::run {
namespace {

using Names = std::vector<std::string>;

/// The tensors of the demo in one stage that have no weight decay although they are matrices.
Names spared_by(const Names& groups) {
    RunConfig config;
    config.stages = 1;
    config.optimizer.no_decay = groups;
    const StageLayout whole = partition(config)[0];
    Names names;
    for (const TensorSpec& tensor : whole.tensors) {
        if (tensor.shape.size() == 2 && !has_weight_decay(config.optimizer, tensor)) {
            names.push_back(tensor.name);
        }
    }
    return names;
}

TEST(WeightDecay, HoldsForAllMatricesAndNoVectorWhereNoGroupIsNamed) {
    EXPECT_EQ(spared_by({}), Names());
    RunConfig config;
    for (const StageLayout& stage : partition(config)) {
        for (const TensorSpec& tensor : stage.tensors) {
            EXPECT_EQ(has_weight_decay(config.optimizer, tensor), tensor.shape.size() == 2)
                << tensor.name;
        }
    }
}

TEST(WeightDecay, LeavesTheMapsOfBottlenecksAlone) {
    const OptimizerConfig optimizer;
    EXPECT_FALSE(has_weight_decay(optimizer, {"boundary.0.down", {16, 128}}));
    EXPECT_FALSE(has_weight_decay(optimizer, {"boundary.0.up", {128, 16}}));
}

TEST(WeightDecay, AGroupHasItsTensorsAndNoOthers) {
    EXPECT_EQ(spared_by({"embed"}), Names{"embed.weight"});
    EXPECT_EQ(spared_by({"head"}), Names{"head.weight"});
    EXPECT_EQ(spared_by({"norms", "bias"}), Names()) << "they are vectors";
    EXPECT_EQ(
        spared_by({"layers.1"}),
        (Names{
            "layers.1.attn.wk",
            "layers.1.attn.wo",
            "layers.1.attn.wq",
            "layers.1.attn.wv",
            "layers.1.mlp.w1",
            "layers.1.mlp.w2",
            "layers.1.mlp.w3"})
    );
    EXPECT_EQ(spared_by({"attn"}).size(), 6U * 4);
    EXPECT_EQ(spared_by({"mlp"}).size(), 6U * 3);
    EXPECT_EQ(spared_by({"mlp", "attn", "embed", "head"}).size(), 6U * 7 + 2);
}

TEST(WeightDecay, ALayerIsNotOneWhoseNumberOnlyBeginsLikeIt) {
    const TensorSpec tensor{"layers.12.mlp.w1", {2, 2}};
    OptimizerConfig optimizer;
    optimizer.no_decay = {"layers.1"};
    EXPECT_TRUE(has_weight_decay(optimizer, tensor));
    optimizer.no_decay = {"layers.12"};
    EXPECT_FALSE(has_weight_decay(optimizer, tensor));
}

std::string fault_of(const Names& groups, const RunConfig& base = {}) {
    RunConfig config = base;
    config.optimizer.no_decay = groups;
    return no_decay_fault(config).value_or("");
}

TEST(NoDecayFault, NamesAnUnknownGroupAndThoseThatExist) {
    EXPECT_EQ(
        fault_of({"embed", "head", "norms", "bias", "attn", "mlp", "layers.0", "layers.5"}), ""
    );
    for (const char* const name :
         {"layers.6",
          "layers.",
          "layers.01",
          "layers.-1",
          "layers.1x",
          "layers.99999999999",
          "layers",
          "Embed",
          "embed.weight",
          ""}) {
        EXPECT_EQ(
            fault_of({"embed", name}),
            "names \"" + std::string(name) +
                "\"; the groups are embed, head, norms, bias, attn, mlp, experts, router and "
                "layers.0 to layers.5"
        );
    }
    RunConfig small;
    small.model.layers = 1;
    EXPECT_EQ(fault_of({"layers.0"}, small), "");
    EXPECT_TRUE(fault_of({"layers.1"}, small).ends_with("router and layers.0"));
}

TEST(NoDecayFault, RefusesAGroupThatStandsThereTwice) {
    EXPECT_EQ(fault_of({"embed", "mlp", "embed"}), "names \"embed\" twice");
}

TEST(NoDecayFault, ATiedMatrixDecaysAtBothEndsOrAtNone) {
    RunConfig tied;
    tied.model.tied_embeddings = true;
    EXPECT_NE(fault_of({"embed"}, tied), "");
    EXPECT_NE(fault_of({"mlp", "head"}, tied), "");
    EXPECT_EQ(fault_of({"head", "embed"}, tied), "");
    EXPECT_EQ(fault_of({"mlp"}, tied), "");
}

}  // namespace
}  // namespace swarm::run

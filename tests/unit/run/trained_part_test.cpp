#include "swarm/run/training/trained_part.hpp"

#include "swarm/run/training/tensor_groups.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <vector>

namespace swarm::run {
namespace {

using Names = std::vector<std::string>;

RunConfig frozen(const Names& groups, std::uint32_t stages = 1) {
    RunConfig config;
    config.stages = stages;
    config.train.freeze = groups;
    return config;
}

RunConfig adapted(std::uint32_t rank, const Names& on, std::uint32_t stages = 1) {
    RunConfig config;
    config.stages = stages;
    config.lora.rank = rank;
    config.lora.on = on;
    return config;
}

Names names_of(const std::vector<TensorSpec>& tensors) {
    Names names;
    for (const TensorSpec& tensor : tensors) {
        names.push_back(tensor.name);
    }
    return names;
}

std::string fault_of(const RunConfig& config) {
    const auto checked = check_run(config);
    return checked ? "" : checked.error().detail;
}

TEST(TrainedPart, IsAllOfAModelWhereNothingIsSaid) {
    for (const StageLayout& stage : partition(RunConfig{})) {
        EXPECT_TRUE(stage.frozen.empty());
        EXPECT_EQ(stage.state_bytes(), 12 * stage.elements());
    }
}

TEST(TrainedPart, LeavesOutWhatIsFrozen) {
    const StageLayout whole = partition(frozen({"embed", "layers.0-3", "norms"})).front();
    EXPECT_EQ(whole.frozen.front().name, "embed.weight");
    EXPECT_EQ(
        names_of(whole.tensors),
        (Names{
            "layers.4.attn.wk",
            "layers.4.attn.wo",
            "layers.4.attn.wq",
            "layers.4.attn.wv",
            "layers.4.mlp.w1",
            "layers.4.mlp.w2",
            "layers.4.mlp.w3",
            "layers.5.attn.wk",
            "layers.5.attn.wo",
            "layers.5.attn.wq",
            "layers.5.attn.wv",
            "layers.5.mlp.w1",
            "layers.5.mlp.w2",
            "layers.5.mlp.w3",
            "head.weight"})
    );
    const StageLayout all = partition(frozen({})).front();
    EXPECT_EQ(whole.elements() + whole.frozen_elements(), all.elements());
    EXPECT_EQ(whole.state_bytes(), 12 * whole.elements() + 4 * whole.frozen_elements());
    std::vector<TensorSpec> again;
    for (const PlacedTensor& tensor : all_tensors(whole)) {
        again.push_back(*tensor.spec);
    }
    EXPECT_EQ(again, all.tensors) << "the global order is that of the model";
}

TEST(TrainedPart, PlacesTensorsAmongTheirKind) {
    const StageLayout whole = partition(frozen({"attn", "embed"})).front();
    std::uint64_t trained = 0;
    std::uint64_t held = 0;
    for (const PlacedTensor& tensor : all_tensors(whole)) {
        std::uint64_t& begin = tensor.frozen ? held : trained;
        EXPECT_EQ(tensor.begin, begin) << tensor.spec->name;
        begin += tensor.spec->elements();
    }
    EXPECT_EQ(trained, whole.elements());
    EXPECT_EQ(held, whole.frozen_elements());
}

TEST(TrainedPart, IsTheAdaptersWhereThereAreSome) {
    const RunConfig config = adapted(4, {"attn.wq", "mlp.w2"}, 3);
    EXPECT_EQ(fault_of(config), "");
    const StageLayout last = partition(config).back();
    EXPECT_EQ(
        last.tensors,
        (std::vector<TensorSpec>{
            {"layers.4.attn.wq.lora_a", {4, 128}},
            {"layers.4.attn.wq.lora_b", {128, 4}},
            {"layers.4.mlp.w2.lora_a", {4, 344}},
            {"layers.4.mlp.w2.lora_b", {128, 4}},
            {"layers.5.attn.wq.lora_a", {4, 128}},
            {"layers.5.attn.wq.lora_b", {128, 4}},
            {"layers.5.mlp.w2.lora_a", {4, 344}},
            {"layers.5.mlp.w2.lora_b", {128, 4}}})
    );
    EXPECT_EQ(adapter_scale(config.lora), 2);
    LoraConfig lora = config.lora;
    lora.alpha = 2;
    EXPECT_EQ(adapter_scale(lora), 0.5);
}

TEST(TrainedPart, ATiedMatrixIsTrainedAtBothEndsOrAtNone) {
    RunConfig config = frozen({}, 3);
    config.model.tied_embeddings = true;
    EXPECT_TRUE(trains_tied_matrix(config));
    EXPECT_TRUE(tied_stage(config, {0}));
    config.train.freeze = {"embed", "head"};
    EXPECT_FALSE(trains_tied_matrix(config));
    EXPECT_FALSE(tied_stage(config, {0}));
    EXPECT_EQ(fault_of(config), "");
    config.train.freeze = {"embed"};
    EXPECT_NE(fault_of(config).find("embed and head together"), std::string::npos);
}

TEST(TrainedPart, RefusesWhatCannotBe) {
    EXPECT_NE(fault_of(frozen({"layers.0-6"})).find("train.freeze names"), std::string::npos);
    EXPECT_NE(fault_of(frozen({"layers.3-1"})).find("train.freeze names"), std::string::npos);
    EXPECT_NE(
        fault_of(frozen({"embed", "head", "attn", "mlp", "norms"})).find("nothing to train"),
        std::string::npos
    );
    EXPECT_NE(fault_of(adapted(4, {"attn.w1"})).find("lora.on names"), std::string::npos);
    EXPECT_NE(fault_of(adapted(4, {})).find("must name a matrix"), std::string::npos);
    RunConfig deep = adapted(4, {std::begin(kAdaptable), std::end(kAdaptable)});
    deep.model.layers = 292;
    EXPECT_EQ(fault_of(deep), "");
    deep.model.layers = 293;
    EXPECT_NE(fault_of(deep).find("lora.on makes 4102 tensors"), std::string::npos);
    RunConfig both = adapted(4, {"attn.wq"});
    both.train.freeze = {"embed"};
    EXPECT_NE(fault_of(both).find("train.freeze must be left out"), std::string::npos);
    RunConfig sparse = adapted(4, {"attn.wq"});
    sparse.mode = SyncMode::Sparse;
    EXPECT_NE(fault_of(sparse).find("in mode sparse"), std::string::npos);
}

TEST(TensorGroups, ARangeHasBothItsEnds) {
    const auto in = [](const char* group, const char* tensor) {
        return is_in_group(group, {tensor, {2, 2}});
    };
    EXPECT_TRUE(in("layers.1-3", "layers.1.mlp.w1"));
    EXPECT_TRUE(in("layers.1-3", "layers.3.attn_norm"));
    EXPECT_FALSE(in("layers.1-3", "layers.0.mlp.w1"));
    EXPECT_FALSE(in("layers.1-3", "layers.13.mlp.w1"));
    EXPECT_FALSE(in("layers.1-3", "head.weight"));
    EXPECT_TRUE(in("norms", "layers.2.attn.q_norm"));
    EXPECT_TRUE(in("norms", "head.norm"));
    EXPECT_TRUE(in("bias", "layers.2.attn.bq"));
    EXPECT_FALSE(in("norms", "layers.2.attn.bq"));
}

}  // namespace
}  // namespace swarm::run

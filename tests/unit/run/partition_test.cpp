#include "swarm/run/partition.hpp"

#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

namespace swarm::run {
namespace {

std::vector<std::string> names_of(const std::vector<TensorSpec>& tensors) {
    std::vector<std::string> names;
    for (const TensorSpec& tensor : tensors) {
        names.push_back(tensor.name);
    }
    return names;
}

std::uint64_t largest_stage(const std::vector<StageLayout>& stages) {
    std::uint64_t largest = 0;
    for (const StageLayout& stage : stages) {
        largest = std::max(largest, stage.elements());
    }
    return largest;
}

/// Tries every way to cut config.model.layers into config.stages.
std::uint64_t largest_stage_by_brute_force(RunConfig config) {
    std::uint64_t best = std::numeric_limits<std::uint64_t>::max();
    std::vector<std::uint32_t> split;
    const std::function<void(std::uint32_t)> extend = [&](std::uint32_t layers_left) {
        if (split.size() + 1 == config.stages) {
            config.layers_per_stage = split;
            config.layers_per_stage.push_back(layers_left);
            best = std::min(best, largest_stage(partition(config)));
            return;
        }
        const auto stages_left = static_cast<std::uint32_t>(config.stages - split.size());
        for (std::uint32_t layers = 1; layers_left - layers >= stages_left - 1; ++layers) {
            split.push_back(layers);
            extend(layers_left - layers);
            split.pop_back();
        }
    };
    extend(config.model.layers);
    return best;
}

TEST(Partition, AnOracleIsCutAsTheModelThatItStandsFor) {
    RunConfig config;
    config.model = *named_model("oracle");
    config.stages = config.model.layers = 2;
    config.microbatches = 8;
    config.model.width = 1'016;
    EXPECT_EQ(partition(config)[0].slice_bytes_max, protocol::kSliceBytesMax);
    EXPECT_EQ(partition(config)[0].chunk_bytes_max, protocol::kChunkBytes);
    config.model.stands_for = (1 << 24) - 8;  // with the counters 2^24 sums: 16 slices
    EXPECT_EQ(partition(config)[0].slice_bytes_max, 1'024 / 16 * sizeof(std::int64_t));
    EXPECT_EQ(partition(config)[0].parameters(), (1U << 24) - 8);
    EXPECT_EQ(partition(config)[0].chunk_bytes_max, 60U) << "1 MiB x 1,016 / 2^24, in floats";
    config.model.stands_for = 100;  // less than it has
    EXPECT_EQ(partition(config)[0].slice_bytes_max, protocol::kSliceBytesMax);
}

TEST(Partition, GivesTheDemoTwoLayersPerStage) {
    const auto stages = partition(RunConfig{});
    ASSERT_EQ(stages.size(), 3U);
    for (std::uint32_t s = 0; s < 3; ++s) {
        EXPECT_EQ(stages[s].stage, StageIndex{s});
        EXPECT_EQ(stages[s].first_layer, 2 * s);
        EXPECT_EQ(stages[s].layers, 2U);
        EXPECT_EQ(stages[s].has_embedding, s == 0);
        EXPECT_EQ(stages[s].has_head, s == 2);
    }
}

TEST(Partition, NamesTensorsByGlobalLayerInGlobalOrder) {
    RunConfig config;
    config.stages = 6;
    const auto stages = partition(config);
    EXPECT_EQ(stages.front().tensors.front(), (TensorSpec{"embed.weight", {256, 128}}));
    EXPECT_EQ(
        names_of(stages[5].tensors),
        (std::vector<std::string>{
            "layers.5.attn.wk",
            "layers.5.attn.wo",
            "layers.5.attn.wq",
            "layers.5.attn.wv",
            "layers.5.attn_norm",
            "layers.5.mlp.w1",
            "layers.5.mlp.w2",
            "layers.5.mlp.w3",
            "layers.5.mlp_norm",
            "head.norm",
            "head.weight"})
    );
}

TEST(Partition, EachSideOfABoundaryHasAMap) {
    RunConfig run;
    run.model.bottleneck = 16;
    const auto stages = partition(run);
    ASSERT_EQ(stages.size(), 3U);
    const auto names = [](const StageLayout& layout) {
        std::vector<std::string> maps;
        const std::vector<PlacedTensor> all = all_tensors(layout);
        for (std::size_t i = 0; i < all.size(); ++i) {
            EXPECT_EQ(*all[i].spec, layout.tensors[i]);
            if (all[i].spec->name.starts_with("boundary.")) {
                maps.push_back(all[i].spec->name);
            }
        }
        return maps;
    };
    EXPECT_EQ(names(stages[0]), std::vector<std::string>{"boundary.0.down"});
    EXPECT_EQ(
        names(stages[1]),
        (std::vector<std::string>{"boundary.0.tokens", "boundary.0.up", "boundary.1.down"})
    );
    EXPECT_EQ(names(stages[2]), (std::vector<std::string>{"boundary.1.tokens", "boundary.1.up"}));
    EXPECT_EQ(stages[0].tensors.back().shape, (std::vector<std::uint32_t>{16, run.model.width}));
    const std::vector<std::uint32_t> table{run.model.vocabulary, run.model.width};
    EXPECT_EQ(stages[2].tensors[0].shape, table);
    EXPECT_EQ(stages[2].tensors[1].shape, (std::vector<std::uint32_t>{run.model.width, 16}));
    EXPECT_EQ(activation_shape(run, {0}).back(), 16U);
}

TEST(Partition, ShapesFollowHeadsAndWidths) {
    RunConfig config;
    config.model.width = 12;
    config.model.heads = 3;
    config.model.kv_heads = 1;
    config.model.ffn_width = 20;
    const auto tensors = layer_tensors(config, 4);
    EXPECT_EQ(tensors[0], (TensorSpec{"layers.4.attn.wk", {4, 12}}));
    EXPECT_EQ(tensors[1], (TensorSpec{"layers.4.attn.wo", {12, 12}}));
    EXPECT_EQ(tensors[2], (TensorSpec{"layers.4.attn.wq", {12, 12}}));
    EXPECT_EQ(tensors[3], (TensorSpec{"layers.4.attn.wv", {4, 12}}));
    EXPECT_EQ(tensors[4], (TensorSpec{"layers.4.attn_norm", {12}}));
    EXPECT_EQ(tensors[5], (TensorSpec{"layers.4.mlp.w1", {20, 12}}));
    EXPECT_EQ(tensors[6], (TensorSpec{"layers.4.mlp.w2", {12, 20}}));
}

TEST(Partition, LayersAreSortedByName) {
    const auto names = names_of(layer_tensors(RunConfig{}, 0));
    EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

TEST(Partition, AnyOtherSplitSelectsTheSameTensors) {
    RunConfig config;
    const auto all_names = [&config] {
        std::vector<std::string> names;
        for (const StageLayout& stage : partition(config)) {
            const auto more = names_of(stage.tensors);
            names.insert(names.end(), more.begin(), more.end());
        }
        return names;
    };
    config.stages = 1;
    const auto whole = all_names();
    config.stages = 4;
    EXPECT_EQ(all_names(), whole);
    config.stages = 3;
    config.layers_per_stage = {1, 4, 1};
    EXPECT_EQ(all_names(), whole);
}

TEST(Partition, TheLargestStageIsAsSmallAsBruteForceFindsIt) {
    Rng rng(1, 1);
    for (int round = 0; round < 60; ++round) {
        RunConfig config;
        config.model.layers = static_cast<std::uint32_t>(1 + rng.below(10));
        config.stages = static_cast<std::uint32_t>(1 + rng.below(config.model.layers));
        config.model.width = static_cast<std::uint32_t>(4 * (1 + rng.below(8)));
        config.model.ffn_width = static_cast<std::uint32_t>(1 + rng.below(64));
        config.model.vocabulary = static_cast<std::uint32_t>(256 + rng.below(1000));
        EXPECT_EQ(largest_stage(partition(config)), largest_stage_by_brute_force(config))
            << config.model.layers << " layers, " << config.stages << " stages, width "
            << config.model.width << ", ffn " << config.model.ffn_width << ", vocabulary "
            << config.model.vocabulary;
    }
}

TEST(Partition, ABigVocabularyTakesLayersFromTheEnds) {
    RunConfig config;
    config.model.layers = 9;
    config.model.vocabulary = 1540;  // the embedding weighs as much as one layer
    const auto stages = partition(config);
    EXPECT_EQ(stages[0].layers, 3U);
    EXPECT_EQ(stages[1].layers, 3U);
    config.model.vocabulary = 3100;
    EXPECT_EQ(partition(config)[1].layers, 5U);
}

TEST(Partition, AmongEquallyGoodSplitsTheSmallestStageIsAsLargeAsPossible) {
    RunConfig config;
    config.model = *named_model("oracle");
    config.model.layers = 7;
    config.stages = 3;
    std::vector<std::uint32_t> layers;
    for (const StageLayout& stage : partition(config)) {
        layers.push_back(stage.layers);
    }
    std::sort(layers.begin(), layers.end());
    EXPECT_EQ(layers, (std::vector<std::uint32_t>{2, 2, 3}));
}

TEST(Partition, TheOracleHasOneCounterPerMicrobatchAndLayerAndNoOtherTensor) {
    RunConfig config;
    config.model = *named_model("oracle");
    config.microbatches = 5;
    const auto stages = partition(config);
    EXPECT_TRUE(stages[0].has_embedding);
    EXPECT_TRUE(stages[2].has_head);
    EXPECT_EQ(
        stages[2].tensors,
        (std::vector<TensorSpec>{{"layers.4.counts", {5}}, {"layers.5.counts", {5}}})
    );
}

TEST(Partition, TheOracleHasAsManyElementsPerLayerAsItsWidthAndRoomForEachMicrobatch) {
    RunConfig config;
    config.model = *named_model("oracle");
    config.microbatches = 5;
    config.model.width = 4;
    EXPECT_EQ(layer_tensors(config, 0).front().shape, (std::vector<std::uint32_t>{5}));
    config.model.width = 1U << 24;
    EXPECT_EQ(layer_tensors(config, 0).front().shape, (std::vector<std::uint32_t>{1, 1U << 24}));
    EXPECT_EQ(activation_shape(config, {0}), (std::vector<std::uint32_t>{1, 1, 13}));
}

}  // namespace
}  // namespace swarm::run

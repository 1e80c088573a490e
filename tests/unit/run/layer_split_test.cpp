#include "swarm/run/layer_split.hpp"

#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace swarm::run {
namespace {

using Split = std::vector<std::uint32_t>;

std::vector<LayerCost> times(const std::vector<double>& values) {
    std::vector<LayerCost> layers;
    for (const double value : values) {
        layers.push_back({value, 1});
    }
    return layers;
}

/// Memory and speed of each stage in order; empty: no bound, and equal speeds.
struct StageCosts {
    std::vector<std::uint64_t> memory_bytes{};
    std::vector<double> speeds{};
};

/// The longest time of a stage; infinite when a stage does not fit.
double longest(const std::vector<LayerCost>& layers, const Split& split, const StageCosts& of) {
    double longest = 0;
    std::size_t next = 0;
    for (std::size_t s = 0; s < split.size(); ++s) {
        double time = 0;
        std::uint64_t bytes = 0;
        for (std::uint32_t i = 0; i < split[s]; ++i, ++next) {
            time += layers[next].time / (of.speeds.empty() ? 1 : of.speeds[s]);
            bytes += layers[next].memory_bytes;
        }
        if (!of.memory_bytes.empty() && bytes > of.memory_bytes[s]) {
            return std::numeric_limits<double>::infinity();
        }
        longest = std::max(longest, time);
    }
    return longest;
}

/// Tries all splits of the layers that are left.
double brute_force(
    const std::vector<LayerCost>& layers,
    std::uint32_t stages,
    const StageCosts& of,
    Split begun = {}
) {
    const auto done = std::accumulate(begun.begin(), begun.end(), std::size_t{0});
    if (begun.size() + 1 == stages) {
        begun.push_back(static_cast<std::uint32_t>(layers.size() - done));
        return longest(layers, begun, of);
    }
    double best = std::numeric_limits<double>::infinity();
    const std::size_t later = stages - begun.size() - 1;
    for (std::uint32_t count = 1; done + count + later <= layers.size(); ++count) {
        begun.push_back(count);
        best = std::min(best, brute_force(layers, stages, of, begun));
        begun.pop_back();
    }
    return best;
}

TEST(LayerSplit, TheLongestStageIsAsShortAsBruteForceFindsIt) {
    Rng rng(1, 1);
    int refused = 0;
    for (int i = 0; i < 5'000; ++i) {
        std::vector<LayerCost> layers(1 + rng.below(9));
        for (LayerCost& layer : layers) {
            layer = {rng.unit(), 1 + rng.below(5)};
        }
        const auto stages = static_cast<std::uint32_t>(1 + rng.below(layers.size()));
        StageCosts of;
        for (std::uint32_t s = 0; s < stages && i % 2 == 1; ++s) {
            of.memory_bytes.push_back(2 + rng.below(16));
        }
        for (std::uint32_t s = 0; s < stages && i % 3 == 1; ++s) {
            of.speeds.push_back(0.1 + rng.unit());
        }
        const double best = brute_force(layers, stages, of);
        const auto split = split_layers(layers, stages, of.memory_bytes, of.speeds);
        if (!split) {
            ++refused;
            ASSERT_EQ(best, std::numeric_limits<double>::infinity()) << "case " << i;
            continue;
        }
        ASSERT_EQ(split->size(), stages);
        ASSERT_EQ(std::count(split->begin(), split->end(), 0U), 0);
        ASSERT_NEAR(longest(layers, *split, of), best, 1e-12) << "case " << i;
    }
    EXPECT_GT(refused, 100);
    EXPECT_LT(refused, 2'000);
}

TEST(LayerSplit, AmongEquallyGoodSplitsTheShortestStageIsAsLongAsPossible) {
    EXPECT_EQ(*split_layers(times({4, 1, 1, 1, 1}), 3), (Split{1, 2, 2}));
}

TEST(LayerSplit, MemoryMovesACutEvenIfAStageTakesLonger) {
    const auto layers = times({3, 1, 1, 1});
    EXPECT_EQ(*split_layers(layers, 2), (Split{1, 3}));
    EXPECT_EQ(*split_layers(layers, 2, {2, 2}), (Split{2, 2}));
}

TEST(LayerSplit, SaysWhatToDoWhenNothingFits) {
    const auto split = split_layers(times({1, 1, 1}), 2, {1, 1});
    ASSERT_FALSE(split);
    EXPECT_EQ(split.error().code, ErrorCode::Mismatch);
    EXPECT_EQ(
        split.error().detail,
        "3 layers do not fit into 2 stages of the memory that is lent: lend more, or use more "
        "stages"
    );
}

}  // namespace
}  // namespace swarm::run

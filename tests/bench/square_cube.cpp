#include "tests/bench/square_cube.hpp"

#include "stages/compute/compute.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/compute/compute_factory.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/partition.hpp"
#include "tests/bench/quality/curve_svg.hpp"

#include <chrono>
#include <cmath>
#include <memory>
#include <string>

namespace swarm::bench {
namespace {

constexpr std::uint32_t kFirstWidth = 64;
constexpr std::uint32_t kWidths[] = {kFirstWidth, 128, 256, 512, 1024, 2048};
constexpr std::uint32_t kDepths[] = {1, 4};
constexpr std::uint32_t kHeadWidth = 64;
constexpr std::uint32_t kRowTokens = 128;
constexpr double kAtLeast_s = 0.2;  // repetitions go on for so long
constexpr float kWeightMax = 0.02F;

run::RunConfig config_of(std::uint32_t width, std::uint32_t layers) {
    run::RunConfig config;
    config.stages = 3;
    config.layers_per_stage = {1, layers, 1};
    config.batch = 1;
    config.model.layers = layers + 2;
    config.model.width = width;
    config.model.heads = width / kHeadWidth;
    config.model.kv_heads = width / kHeadWidth;
    config.model.ffn_width = width * 8 / 3;
    config.model.context = kRowTokens;
    return config;
}

std::vector<float> drawn(std::size_t count, float largest) {
    Rng rng(1, 0);
    std::vector<float> values(count);
    for (float& value : values) {
        value = largest * (static_cast<float>(rng.below(2001)) / 1000.0F - 1.0F);
    }
    return values;
}

/// Seconds of one forward and one backward of the middle stage.
Result<double> seconds_of(const run::RunConfig& config, const stages::ComputeFactory& factory) {
    const std::vector<run::StageLayout> stages = run::partition(config);
    const run::StageLayout& middle = stages[1];
    SWARM_TRY(const auto compute, factory(config, middle));
    const std::vector<float> weights = drawn(middle.elements(), kWeightMax);
    compute->use_weights(weights);
    const std::vector<std::uint32_t> shape{1, kRowTokens, config.model.width};
    const auto input =
        stages::make_host_tensor(shape, drawn(std::size_t{kRowTokens} * config.model.width, 1));
    const std::vector<std::uint32_t> tokens(kRowTokens + 1, 0);
    std::vector<float> gradient(middle.elements());
    std::uint32_t count = 0;
    auto begin = std::chrono::steady_clock::now();
    std::chrono::duration<double> took{};
    do {
        const stages::GraphKey key{MicrobatchId{count % 8}, Attempt{count}};
        SWARM_TRY(const auto output, compute->forward(key, &input, tokens, stages::Graph::Keep));
        SWARM_TRY(const auto below, compute->backward(key, output, gradient));
        if (count++ == 0) {  // the first one is a warm-up
            begin = std::chrono::steady_clock::now();
        }
        took = std::chrono::steady_clock::now() - begin;
    } while (took.count() < kAtLeast_s);
    return took.count() / (count - 1);
}

}  // namespace

Result<std::vector<SquareCubePoint>> measure_square_cube() {
    const stages::ComputeFactory factory = cli::make_compute_factory("cpu", 1);
    std::vector<SquareCubePoint> points;
    for (const std::uint32_t layers : kDepths) {
        for (const std::uint32_t width : kWidths) {
            const std::uint64_t bytes = 2 * sizeof(float) * std::uint64_t{kRowTokens} * width;
            SWARM_TRY(const double seconds, seconds_of(config_of(width, layers), factory));
            points.push_back({width, layers, seconds, bytes});
        }
    }
    return points;
}

std::string square_cube_svg(const std::vector<SquareCubePoint>& points) {
    SvgPlot plot;
    plot.title = "Busy share of a device by width, in percent; line of 100 Mbit/s, no overlap";
    plot.description =
        "The share of its time that one core computes a stage's microbatch, and does not wait for "
        "the line, at widths of 64 to 2,048; a curve for each number of layers per stage.";
    for (const std::uint32_t layers : kDepths) {
        SvgCurve curve{std::to_string(layers) + (layers == 1 ? " layer" : " layers"), {}};
        for (const SquareCubePoint& point : points) {
            if (point.layers == layers) {
                curve.points.push_back(
                    {std::log2(static_cast<double>(point.width) / kFirstWidth),
                     100 * point.busy(kSquareCubeLine_bytes_per_s)}
                );
            }
        }
        plot.curves.push_back(std::move(curve));
    }
    for (const std::uint32_t width : kWidths) {
        plot.ticks.push_back(
            {std::log2(static_cast<double>(width) / kFirstWidth), std::to_string(width)}
        );
    }
    return to_svg(plot);
}

}  // namespace swarm::bench

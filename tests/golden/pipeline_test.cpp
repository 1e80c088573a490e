// Bubbles of textbook schedules and published step times, reproduced with the simulator's parts.
// Sources: GPipe (Huang et al. 2019) and 1F1B (Narayanan et al. 2019): bubble (S-1)/(m+S-1).
// Step times: records of ProtocolNanoGPT (203 M parameters, d 1024, 8 stages, T 1024, 512 sequences
// per step, 200 Mbit/s and 50 ms per link), bf16: 100.475 s; 160 of 1024 dimensions: 19.889 s.
#include "tests/golden/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

namespace sim::golden {
namespace {

struct Shape {
    std::uint32_t stages;
    std::uint32_t microbatches;
};

constexpr Shape kShapes[] = {{2, 1}, {2, 8}, {4, 4}, {4, 8}, {4, 32}, {8, 8}, {8, 64}, {16, 32}};

double published_bubble(const Shape& shape) {
    const double fill = shape.stages - 1;
    return fill / (shape.microbatches + fill);
}

PipelineOutcome run_shape(const Shape& shape, Order order) {
    PipelineOptions options;
    options.stages = shape.stages;
    options.microbatches = shape.microbatches;
    options.order = order;
    return run_pipeline(options);
}

TEST(GoldenBubble, TheBubbleOfGPipeIsThePublishedOne) {
    for (const Shape& shape : kShapes) {
        const PipelineOutcome outcome = run_shape(shape, Order::GPipe);
        const double published = published_bubble(shape);
        EXPECT_NEAR(outcome.bubble, published, 0.01 * published)
            << shape.stages << " stages, " << shape.microbatches << " microbatches";
        EXPECT_EQ(outcome.most_held, shape.microbatches);
    }
}

TEST(GoldenBubble, TheBubbleOf1F1BIsTheSameWithFewerMicrobatchesHeld) {
    for (const Shape& shape : kShapes) {
        const PipelineOutcome outcome = run_shape(shape, Order::OneForwardOneBackward);
        const double published = published_bubble(shape);
        EXPECT_NEAR(outcome.bubble, published, 0.01 * published)
            << shape.stages << " stages, " << shape.microbatches << " microbatches";
        EXPECT_EQ(outcome.most_held, std::min(shape.microbatches, shape.stages));
    }
}

struct WanRecord {
    const char* what;
    double published_s;
    std::uint32_t sequences;  // sequences per microbatch
    double bits_per_token;
};

// The published meter lets the latency occupy the link: latency counts as bytes of the line.
double simulated_step_s(const WanRecord& record) {
    constexpr double kStepTokens = 1024;
    constexpr double kBytesPerS = 200e6 / 8;
    constexpr double kLatencyS = 0.050;
    PipelineOptions options;
    options.stages = 8;
    options.microbatches = 512 / record.sequences;
    options.order = Order::GPipe;
    options.forward_s = 0;  // the links hide the computing
    options.backward_s = 0;
    options.line_bytes_per_s = static_cast<std::uint64_t>(kBytesPerS);
    options.tensor_bytes = static_cast<std::uint64_t>(
        record.sequences * kStepTokens * record.bits_per_token / 8 + kLatencyS * kBytesPerS
    );
    return run_pipeline(options).step_s;
}

TEST(GoldenWan, TwoPublishedStepTimesWithinFivePercent) {
    const WanRecord records[] = {
        {"bf16, microbatches of 8", 100.475, 8, 1024 * 16},
        {"160 of 1024 dimensions, microbatches of 16", 19.889, 16, 160 * 16},
    };
    for (const WanRecord& record : records) {
        const double simulated_s = simulated_step_s(record);
        std::printf(
            "%s: %.3f s simulated, %.3f s published\n", record.what, simulated_s, record.published_s
        );
        EXPECT_NEAR(simulated_s, record.published_s, 0.05 * record.published_s);
    }
}

}  // namespace
}  // namespace sim::golden

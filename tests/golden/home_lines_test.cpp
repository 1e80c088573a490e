// The scenario home-lines beside the figures of real processes in tests/bench/RESULTS.md: the demo
// model, 2 stages of two replicas, lines of 10 Mb/s and 10 ms. The speed of the peers was fitted to
// the row of mode sparse with int4; the other rows were not used.
#include "sim/fluid/fluid_run.hpp"
#include "sim/run/scenario_run.hpp"
#include "tests/places.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace sim::golden {
namespace {

constexpr double kTokens = 8 * 4 * 128;  // each step has so many
constexpr double kExactWithin = 0.05;
constexpr double kFluidWithin = 0.08;

struct Row {
    const char* mode;
    const char* codec;
    const char* activation_bytes;
    double tokens_per_s;  // published
};

constexpr Row kRows[] = {
    {"exact", "auto or int4", "34816", 1'822},
    {"exact", "int8", "69632", 1'723},
    {"sparse", "auto or int4", "34816", 9'949},
    {"sparse", "int8", "69632", 7'933},
    {"sparse", "none", "262144", 2'870},
};

TEST(HomeLines, ReductionsCostWhatTheyCostRealProcesses) {
    for (const Row& row : kRows) {
        const auto scenario = load_scenario(
            swarm::test::source_dir() + "/sim/scenarios/home-lines.toml",
            {{"pipeline.mode", row.mode}, {"pipeline.activation_bytes", row.activation_bytes}}
        );
        ASSERT_TRUE(scenario) << scenario.error().detail;
        const double exact = kTokens / run_exact(*scenario, scenario->seed)->step_s->mean;
        const double fluid = kTokens / run_fluid(*scenario, scenario->seed)->step_s->mean;
        std::printf(
            "mode %s, %s: %.0f tokens/s, exact %.0f, fluid %.0f\n",
            row.mode,
            row.codec,
            row.tokens_per_s,
            exact,
            fluid
        );
        EXPECT_NEAR(exact, row.tokens_per_s, kExactWithin * row.tokens_per_s) << row.codec;
        EXPECT_NEAR(fluid, row.tokens_per_s, kFluidWithin * row.tokens_per_s) << row.codec;
    }
}

}  // namespace
}  // namespace sim::golden

// The keys of a scenario that say what the replicas of a stage exchange.
#include "sim/scenario/scenario.hpp"

#include <gtest/gtest.h>

#include <string>

namespace sim {
namespace {

swarm::Result<Scenario> parse_pipeline(const std::string& keys) {
    return parse_scenario("[[peers]]\ncount = 8\n[pipeline]\n" + keys, "s.toml");
}

std::string pipeline_refusal(const std::string& keys) {
    const auto scenario = parse_pipeline(keys);
    return scenario ? "taken" : scenario.error().detail;
}

TEST(ReplicasInScenario, ExactIsTheDefault) {
    EXPECT_EQ(parse_pipeline("")->pipeline.mode, swarm::run::SyncMode::Exact);
    EXPECT_EQ(parse_pipeline("state_bytes = 1200\n")->pipeline.exchanged(), 100U);
    EXPECT_EQ(parse_pipeline("state_bytes = 1200\nreductions = false\n")->pipeline.exchanged(), 0U);
}

TEST(ReplicasInScenario, ModeSparseHasExchanges) {
    EXPECT_EQ(parse_pipeline("mode = 'sparse'\n")->pipeline.steps_between_syncs(), 8U);
    EXPECT_EQ(
        parse_pipeline("mode = 'sparse'\nsync_every = 3\n")->pipeline.steps_between_syncs(), 3U
    );
    EXPECT_EQ(
        pipeline_refusal("mode = 'sparce'\n"),
        "s.toml:4: pipeline.mode must be \"exact\" or \"sparse\""
    );
    EXPECT_EQ(
        pipeline_refusal("sync_every = 4\n"),
        "s.toml:4: pipeline.sync_every must be left out where pipeline.mode is exact"
    );
}

}  // namespace
}  // namespace sim

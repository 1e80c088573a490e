#include "swarm/run/run_file/config_changes.hpp"

#include "swarm/run/config.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace swarm::run {
namespace {

TEST(ChangesBetween, NamesEachKeyWithBothValuesInTheOrderOfTheReference) {
    const RunConfig was;
    RunConfig now;
    EXPECT_TRUE(changes_between(was, now).empty());
    now.optimizer.learning_rate = 1e-3;
    now.stages = 4;
    now.codec = *CodecSetting::find("int8");
    now.model.width = 64;
    const auto changes = changes_between(was, now);
    ASSERT_EQ(changes.size(), 4U);
    EXPECT_EQ(changes[0].key, "run.stages");
    EXPECT_EQ(changes[0].was, "3");
    EXPECT_EQ(changes[0].now, "4");
    EXPECT_EQ(changes[0].rule, NewValue::Asked);
    EXPECT_EQ(changes[1].key, "run.codec");
    EXPECT_EQ(changes[1].was, "\"none\"");
    EXPECT_EQ(changes[1].now, "\"int8\"");
    EXPECT_EQ(changes[2].key, "model.width");
    EXPECT_EQ(changes[2].rule, NewValue::Never);
    EXPECT_EQ(changes[3].key, "optimizer.learning_rate");
    EXPECT_EQ(changes[3].was, "0.003");
    EXPECT_EQ(changes[3].now, "0.001");
    EXPECT_EQ(changes[3].rule, NewValue::Taken);
}

TEST(ChangesBetween, AsksForAnotherLastStepInModeSparseOnly) {
    RunConfig was;
    RunConfig now;
    now.steps = 90;
    EXPECT_EQ(changes_between(was, now).at(0).rule, NewValue::Taken);
    was.mode = now.mode = SyncMode::Sparse;
    EXPECT_EQ(changes_between(was, now).at(0).rule, NewValue::Asked);
}

TEST(ChangesBetween, ACutWithBottlenecksStays) {
    RunConfig was;
    was.model.bottleneck = 16;
    RunConfig now = was;
    now.stages = 2;
    now.layers_per_stage = {2, 4};
    const auto changes = changes_between(was, now);
    ASSERT_EQ(changes.size(), 2U);
    EXPECT_EQ(changes[0].key, "run.stages");
    EXPECT_EQ(changes[0].rule, NewValue::Never);
    EXPECT_EQ(changes[1].key, "run.layers_per_stage");
    EXPECT_EQ(changes[1].rule, NewValue::Never);
}

TEST(PeerSettings, AreThoseThatPeersComputeWith) {
    const auto digest_with = [](const std::function<void(RunConfig&)>& change) {
        RunConfig config;
        change(config);
        return peer_settings(config);
    };
    const Digest before = peer_settings(RunConfig{});
    EXPECT_NE(digest_with([](RunConfig& run) { run.microbatches = 9; }), before);
    EXPECT_NE(digest_with([](RunConfig& run) { run.optimizer.beta2 = 0.99; }), before);
    EXPECT_NE(digest_with([](RunConfig& run) { run.model.rope_base = 5e4; }), before);
    EXPECT_NE(digest_with([](RunConfig& run) { run.optimizer.no_decay = {"embed"}; }), before);
    EXPECT_NE(digest_with([](RunConfig& run) { run.loop.every = 9; }), before);
    EXPECT_NE(digest_with([](RunConfig& run) { run.paths.skip_every = 9; }), before);
    EXPECT_EQ(digest_with([](RunConfig& run) { run.optimizer.schedule = Schedule::Wsd; }), before)
        << "the coordinator alone computes the rate";
    EXPECT_EQ(digest_with([](RunConfig& run) { run.optimizer.learning_rate = 1; }), before);
    EXPECT_EQ(digest_with([](RunConfig& run) { run.steps = 9; }), before);
    EXPECT_EQ(digest_with([](RunConfig& run) { run.checkpoint_keep = 9; }), before);
    EXPECT_EQ(digest_with([](RunConfig& run) { run.corpus = "x"; }), before);
    EXPECT_EQ(digest_with([](RunConfig& run) { run.corpus_sha256 = "x"; }), before);
    EXPECT_EQ(digest_with([](RunConfig& run) { run.stages = 2; }), before) << "the log has it";
}

}  // namespace
}  // namespace swarm::run

#include "swarm/run/run_file/config_settings.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::run {
namespace {

/// The demo with these settings, which must be taken.
RunConfig with(const Settings& settings, RunConfig config = {}) {
    const auto set = set_keys(config, settings);
    EXPECT_TRUE(set.has_value()) << set.error().detail;
    return config;
}

void expect_refusal(const Settings& settings, std::string_view whole) {
    RunConfig config;
    const auto set = set_keys(config, settings);
    ASSERT_TRUE(set.has_error()) << settings.front().first;
    EXPECT_EQ(set.error().code, ErrorCode::Usage);
    EXPECT_EQ(set.error().reaction, Reaction::Reject);
    EXPECT_EQ(set.error().detail, whole);
}

TEST(SetKeys, ReadsEveryTypeOfValue) {
    const RunConfig config = with(
        {{"optimizer.learning_rate", "1e-4"},
         {"optimizer.clip_norm", "2"},
         {"run.steps", "90"},
         {"model.tied_embeddings", "true"},
         {"optimizer.schedule", "wsd"},
         {"run.codec", "\"int4/int8\""},
         {"run.name", "12"},
         {"run.corpus", "a b=c.txt"}}
    );
    EXPECT_EQ(config.optimizer.learning_rate, 1e-4);
    EXPECT_EQ(config.optimizer.clip_norm, 2.0);
    EXPECT_EQ(config.steps, 90U);
    EXPECT_TRUE(config.model.tied_embeddings);
    EXPECT_EQ(config.optimizer.schedule, Schedule::Wsd);
    EXPECT_EQ(config.codec.text(), "int4/int8");
    EXPECT_EQ(config.name, "12") << "text needs no quotes";
    EXPECT_EQ(config.corpus, "a b=c.txt");
}

TEST(SetKeys, AListNeedsNoBrackets) {
    const std::vector<std::uint32_t> layers{1, 2, 3};
    EXPECT_EQ(with({{"run.layers_per_stage", "1,2,3"}}).layers_per_stage, layers);
    EXPECT_EQ(with({{"run.layers_per_stage", "[1, 2, 3]"}}).layers_per_stage, layers);
    const std::vector<std::string> groups{"embed", "layers.3"};
    EXPECT_EQ(with({{"optimizer.no_decay", "embed, layers.3"}}).optimizer.no_decay, groups);
    EXPECT_EQ(with({{"optimizer.no_decay", "['embed', 'layers.3']"}}).optimizer.no_decay, groups);
    RunConfig spared;
    spared.optimizer.no_decay = groups;
    EXPECT_TRUE(with({{"optimizer.no_decay", ""}}, spared).optimizer.no_decay.empty());
}

TEST(SetKeys, TheLaterOfTwoCounts) {
    EXPECT_EQ(with({{"run.steps", "7"}, {"run.steps", "8"}}).steps, 8U);
}

TEST(SetKeys, NamesTheNearestKey) {
    expect_refusal(
        {{"optimizer.learning_rte", "1"}},
        "--set optimizer.learning_rte=1: optimizer.learning_rte is unknown; the nearest key is "
        "optimizer.learning_rate"
    );
    expect_refusal(
        {{"steps", "1"}}, "--set steps=1: steps is unknown; the nearest key is run.steps"
    );
    expect_refusal({{"", "1"}}, "--set =1:  is unknown; the nearest key is lora.on");
}

TEST(SetKeys, RefusesAValueOfAnotherTypeAsARunFileDoes) {
    expect_refusal(
        {{"optimizer.learning_rate", "fast"}},
        "--set optimizer.learning_rate=fast: optimizer.learning_rate must be a number from 0 to 100"
    );
    expect_refusal(
        {{"run.steps", "2.5"}},
        "--set run.steps=2.5: run.steps must be a whole number from 1 to 1000000000"
    );
    expect_refusal(
        {{"run.split", "even"}},
        "--set run.split=even: run.split must be \"fixed\" or \"measured\""
    );
    expect_refusal(
        {{"run.layers_per_stage", "1,x"}},
        "--set run.layers_per_stage=1,x: run.layers_per_stage must be a list of whole numbers from "
        "0 to 4294967295"
    );
    for (const std::string value : {"1\nseed = 2", "1 # 2\nv = 3", "", "{a = 1}", "[", "-1"}) {
        RunConfig config;
        EXPECT_TRUE(set_keys(config, {{"run.steps", value}}).has_error()) << value;
        EXPECT_EQ(config.seed, RunConfig{}.seed);
    }
}

TEST(SetKeys, LeavesBoundsToTheChecksOfARunFile) {
    const auto checked = check_run(with({{"run.stages", "65"}}));
    ASSERT_TRUE(checked.has_error());
    EXPECT_TRUE(checked.error().detail.starts_with("run.stages is 65, must be 1 to 64"))
        << checked.error().detail;
}

TEST(SetKeys, WhatBelongedToAFormerValueGoesWithIt) {
    RunConfig run;
    run.corpus = "old.txt";
    run.corpus_sha256 = std::string(64, 'a');
    run.layers_per_stage = {1, 2, 3};
    run.tokenizer = "spm:2000";
    run.tokenizer_sha256 = std::string(64, 'b');
    follow_tokenizer(run);
    EXPECT_EQ(with({{"run.steps", "9"}}, run).corpus_sha256, run.corpus_sha256);
    EXPECT_EQ(with({{"run.corpus", "old.txt"}}, run).corpus_sha256, run.corpus_sha256);
    EXPECT_EQ(with({{"run.corpus", "new.txt"}}, run).corpus_sha256, "");
    run.init = "old.gguf";
    run.init_sha256 = std::string(64, 'c');
    EXPECT_EQ(with({{"run.init", "new.gguf"}}, run).init_sha256, "");
    EXPECT_EQ(with({{"run.init", "old.gguf"}}, run).init_sha256, run.init_sha256);
    EXPECT_TRUE(with({{"run.stages", "2"}}, run).layers_per_stage.empty());
    EXPECT_EQ(
        with({{"run.stages", "2"}, {"run.layers_per_stage", "4,2"}}, run).layers_per_stage,
        (std::vector<std::uint32_t>{4, 2})
    );
    EXPECT_EQ(with({{"run.tokenizer", "spm:300"}}, run).model.vocabulary, 300U);
    const RunConfig bytes = with({{"run.tokenizer", "bytes"}}, run);
    EXPECT_EQ(bytes.model.vocabulary, 256U);
    EXPECT_EQ(bytes.tokenizer_sha256, "");
    EXPECT_EQ(with({{"model.kind", "oracle"}}).model.width, 1U);
    EXPECT_EQ(with({{"model.width", "64"}, {"model.kind", "oracle"}}).model.width, 64U);
}

TEST(SetKeys, OneUnitOfTheWarmUpTakesThePlaceOfTheOther) {
    const RunConfig tokens = with({{"optimizer.warmup_tokens", "5000"}});
    EXPECT_EQ(tokens.optimizer.warmup_steps, 0U);
    EXPECT_TRUE(check_run(tokens).has_value());
    const RunConfig steps = with({{"optimizer.warmup_steps", "3"}}, tokens);
    EXPECT_EQ(steps.optimizer.warmup_tokens, 0U);
    const RunConfig both =
        with({{"optimizer.warmup_steps", "3"}, {"optimizer.warmup_tokens", "5000"}});
    EXPECT_TRUE(check_run(both).has_error());
}

}  // namespace
}  // namespace swarm::run

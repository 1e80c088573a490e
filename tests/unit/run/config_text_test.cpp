#include "swarm/run/config.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace swarm::run {
namespace {

TEST(ToToml, ParsesBackToAnEqualRun) {
    RunConfig config;
    config.name = "a-run_2.b";
    config.seed = std::numeric_limits<std::int64_t>::max();
    config.corpus = "a \"quoted\" \\ path\n\t\xC3\xA9.txt";
    config.stages = 2;
    config.layers_per_stage = {2, 4};
    config.model.rope_base = 1e6 / 3.0;
    config.model.norm_epsilon = 0.1 + 0.2 - 0.2;
    config.optimizer.learning_rate = 1.0 / 3.0;
    config.optimizer.epsilon = std::numeric_limits<double>::min() * 1e290;
    config.optimizer.clip_norm = 100000000000.0;
    const auto back = parse_run(to_toml(config), "run.toml");
    ASSERT_TRUE(back.has_value()) << back.error().detail;
    EXPECT_EQ(back->name, config.name);
    EXPECT_EQ(back->seed, config.seed);
    EXPECT_EQ(back->corpus, config.corpus);
    EXPECT_EQ(back->layers_per_stage, config.layers_per_stage);
    EXPECT_EQ(back->model.rope_base, config.model.rope_base);
    EXPECT_EQ(back->model.norm_epsilon, config.model.norm_epsilon);
    EXPECT_EQ(back->optimizer.learning_rate, config.optimizer.learning_rate);
    EXPECT_EQ(back->optimizer.epsilon, config.optimizer.epsilon);
    EXPECT_EQ(back->optimizer.clip_norm, config.optimizer.clip_norm);
    EXPECT_EQ(to_toml(*back), to_toml(config));
}

TEST(ToToml, WritesTheOracleModel) {
    RunConfig config;
    config.model = *named_model("oracle");
    const auto back = parse_run(to_toml(config), "run.toml");
    ASSERT_TRUE(back.has_value()) << back.error().detail;
    EXPECT_EQ(back->model.kind, ModelKind::Oracle);
}

TEST(ToToml, LeavesOutTheModeOfAnExactRun) {
    const std::string text = to_toml(RunConfig{});
    for (const char* key : {"\nmode", "sync_every", "replicas"}) {
        EXPECT_EQ(text.find(key), std::string::npos) << key;
    }
    EXPECT_EQ(parse_run("[run]\nmode = 'exact'\n", "run.toml")->mode, SyncMode::Exact);
}

TEST(ToToml, LeavesOutLayersThatAreComputedOnce) {
    RunConfig run;
    EXPECT_EQ(to_toml(run).find("repeat"), std::string::npos);
    run.model.repeat = 12;
    const auto back = parse_run(to_toml(run), "run.toml");
    ASSERT_TRUE(back.has_value()) << back.error().detail;
    EXPECT_EQ(back->model.repeat, 12U);
}

TEST(ToToml, LeavesOutBoundariesThatAllValuesCross) {
    RunConfig run;
    EXPECT_EQ(to_toml(run).find("bottleneck"), std::string::npos);
    run.model.bottleneck = 16;
    const auto back = parse_run(to_toml(run), "run.toml");
    ASSERT_TRUE(back.has_value()) << back.error().detail;
    EXPECT_EQ(back->model.bottleneck, 16U);
}

TEST(ToToml, LeavesOutUntiedEmbeddings) {
    RunConfig run;
    EXPECT_EQ(to_toml(run).find("tied_embeddings"), std::string::npos);
    run.model.tied_embeddings = true;
    const auto back = parse_run(to_toml(run), "run.toml");
    ASSERT_TRUE(back.has_value()) << back.error().detail;
    EXPECT_TRUE(back->model.tied_embeddings);
}

TEST(ToToml, LeavesOutWhatAnOlderProgramDoesNotKnow) {
    RunConfig run;
    run.checkpoint_keep = 5;
    run.checkpoint_keep_every = 100;
    run.corpus = "text.txt";
    run.corpus_sha256 = std::string(64, 'a');
    const auto back = parse_run(to_toml(run), "run.toml");
    ASSERT_TRUE(back.has_value()) << back.error().detail;
    EXPECT_EQ(back->checkpoint_keep, 5U);
    EXPECT_EQ(back->checkpoint_keep_every, 100U);
    EXPECT_EQ(back->corpus_sha256, run.corpus_sha256);
    EXPECT_EQ(to_toml(for_peers(run)), to_toml(RunConfig{}));
    EXPECT_FALSE(parse_run("[run]\ncorpus_sha256 = 'abc'\n", "run.toml"));
}

TEST(ToToml, LeavesOutTheHeldOutTextsOfItsOwnersMachine) {
    RunConfig run;
    run.eval = {{"held out.txt", "/data/set"}, 7, 3, 2};
    const auto back = parse_run(to_toml(run), "run.toml");
    ASSERT_TRUE(back.has_value()) << back.error().detail;
    EXPECT_EQ(back->eval.texts, run.eval.texts);
    EXPECT_EQ(back->eval.every_steps, 7U);
    EXPECT_EQ(back->eval.batches, 3U);
    EXPECT_EQ(back->eval.patience, 2U);
    EXPECT_EQ(to_toml(for_peers(run)), to_toml(RunConfig{}));
    EXPECT_EQ(to_toml(RunConfig{}).find("eval"), std::string::npos);
}

TEST(ToToml, LeavesOutDocumentsThatAreNotSeparated) {
    RunConfig run;
    EXPECT_EQ(to_toml(run).find("document"), std::string::npos);
    run.train.separate_documents = true;
    run.train.document_end = {7};
    const auto back = parse_run(to_toml(for_peers(run)), "run.toml");
    ASSERT_TRUE(back.has_value()) << back.error().detail;
    EXPECT_TRUE(back->train.separate_documents);
    EXPECT_EQ(back->train.document_end, run.train.document_end);
}

TEST(ToToml, LeavesOutStepsThatAreNotLooped) {
    RunConfig run;
    run.stages = 1;
    EXPECT_EQ(to_toml(run).find("loop"), std::string::npos);
    run.loop = {7, 0.5};
    const auto back = parse_run(to_toml(for_peers(run)), "run.toml");
    ASSERT_TRUE(back.has_value()) << back.error().detail;
    EXPECT_EQ(back->loop.every, 7U);
    EXPECT_EQ(back->loop.part, 0.5);
}

TEST(ToToml, LeavesOutAnEmptyListOfGroupsWithoutDecay) {
    RunConfig run;
    EXPECT_EQ(to_toml(run).find("no_decay"), std::string::npos);
    run.optimizer.no_decay = {"embed", "layers.5"};
    const auto back = parse_run(to_toml(run), "run.toml");
    ASSERT_TRUE(back.has_value()) << back.error().detail;
    EXPECT_EQ(back->optimizer.no_decay, run.optimizer.no_decay);
}

TEST(ToToml, LeavesOutTheUsualSchedule) {
    RunConfig run;
    for (const char* key : {"schedule", "warmup_tokens", "decay_steps"}) {
        EXPECT_EQ(to_toml(run).find(key), std::string::npos) << key;
    }
    run.optimizer.schedule = Schedule::Wsd;
    run.optimizer.decay_steps = 7;
    run.optimizer.warmup_steps = 0;
    run.optimizer.warmup_tokens = 50'000;
    const auto back = parse_run(to_toml(run), "run.toml");
    ASSERT_TRUE(back.has_value()) << back.error().detail;
    EXPECT_EQ(back->optimizer.schedule, Schedule::Wsd);
    EXPECT_EQ(back->optimizer.decay_steps, 7U);
    EXPECT_EQ(back->optimizer.warmup_steps, 0U);
    EXPECT_EQ(back->optimizer.warmup_tokens, 50'000U);
}

// ASSIGN carries this text and checkpoints hash it: it may never change for an older run.
TEST(ToToml, WritesTheSameBytesForever) {
    RunConfig config;
    config.policy = router::PolicyName::find("iwrr").value();
    config.codec = CodecSetting::find("int8/int8").value();
    config.split = SplitMode::Measured;
    config.rebalancer = router::RebalancerName::find("capacity").value();
    config.mode = SyncMode::Sparse;
    config.sync_every = 4;
    config.replicas = 3;
    config.model.tied_embeddings = true;
    config.layers_per_stage = {1, 2, 3};
    config.tokenizer = "spm:2000";
    EXPECT_EQ(to_toml(config), R"([model]
context = 128
ffn_width = 344
heads = 4
kind = 'llama'
kv_heads = 4
layers = 6
norm_epsilon = 1.0000000000000001e-05
rope_base = 10000.0
tied_embeddings = true
vocabulary = 256
width = 128

[optimizer]
beta1 = 0.90000000000000002
beta2 = 0.94999999999999996
clip_norm = 1.0
epsilon = 1e-08
final_learning_rate = 0.00029999999999999997
learning_rate = 0.0030000000000000001
warmup_steps = 10
weight_decay = 0.10000000000000001

[run]
batch = 4
checkpoint_every = 0
codec = 'int8/int8'
corpus = ''
in_flight = 0
layers_per_stage = [ 1, 2, 3 ]
microbatches = 8
min_holders = 1
min_peers = 0
mode = 'sparse'
name = 'run'
policy = 'iwrr'
rebalance_every_s = 300
rebalancer = 'capacity'
replicas = 3
seed = 1
split = 'measured'
stages = 3
steps = 60
sync_every = 4
tokenizer = 'spm:2000'
tokenizer_sha256 = ''
)");
}

}  // namespace
}  // namespace swarm::run

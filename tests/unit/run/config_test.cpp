#include "swarm/run/config.hpp"

#include "swarm/protocol/limits.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace swarm::run {
namespace {

/// The error text of a run file that must be refused; empty when the file was taken.
std::string refusal(std::string_view toml) {
    const auto run = parse_run(toml, "run.toml");
    if (!run.has_error()) {
        return "";
    }
    EXPECT_EQ(run.error().code, ErrorCode::Usage);
    EXPECT_EQ(run.error().reaction, Reaction::Reject);
    EXPECT_EQ(run.error().detail.find('\n'), std::string::npos) << run.error().detail;
    return run.error().detail;
}

void expect_refusal(std::string_view toml, std::string_view beginning) {
    const std::string text = refusal(toml);
    EXPECT_TRUE(text.starts_with(beginning)) << "refusal of\n" << toml << "\nwas: " << text;
}

TEST(ParseRun, AnEmptyFileIsTheDemoRun) {
    const auto run = parse_run("", "run.toml");
    ASSERT_TRUE(run.has_value());
    EXPECT_EQ(to_toml(*run), to_toml(RunConfig{}));
}

TEST(ParseRun, ReadsEveryTable) {
    const auto run = parse_run(
        "[run]\nname = 'tiny'\nseed = 7\nlayers_per_stage = [1, 3]\nstages = 2\n"
        "[model]\nlayers = 4\nrope_base = 500000\n"
        "[optimizer]\nbeta1 = 0.5\nwarmup_steps = 3\n",
        "run.toml"
    );
    ASSERT_TRUE(run.has_value()) << run.error().detail;
    EXPECT_EQ(run->name, "tiny");
    EXPECT_EQ(run->seed, 7U);
    EXPECT_EQ(run->layers_per_stage, (std::vector<std::uint32_t>{1, 3}));
    EXPECT_EQ(run->model.layers, 4U);
    EXPECT_EQ(run->model.rope_base, 500000.0);
    EXPECT_EQ(run->optimizer.beta1, 0.5);
    EXPECT_EQ(run->optimizer.warmup_steps, 3U);
}

TEST(ParseRun, TakesTheNameOfAModelForItsTable) {
    const auto run = parse_run("model = 'oracle'\n[run]\nmicrobatches = 4\n", "run.toml");
    ASSERT_TRUE(run.has_value()) << run.error().detail;
    EXPECT_EQ(run->model.kind, ModelKind::Oracle);
    EXPECT_EQ(run->model.layers, 6U);
    EXPECT_EQ(run->microbatches, 4U);
}

TEST(ParseRun, AnOracleIsSmallUnlessTheFileNamesAWidth) {
    const auto small = parse_run("[model]\nkind = 'oracle'\n", "run.toml");
    ASSERT_TRUE(small.has_value()) << small.error().detail;
    EXPECT_EQ(small->model.width, 1U);
    const auto large = parse_run("[model]\nkind = 'oracle'\nwidth = 268435456\n", "run.toml");
    ASSERT_TRUE(large.has_value()) << large.error().detail;
    EXPECT_EQ(large->model.width, 1U << 28);
    EXPECT_EQ(parse_run(to_toml(*large), "run.toml")->model.width, 1U << 28);
    expect_refusal(
        "[model]\nkind = 'oracle'\nwidth = 268435457\n",
        "run.toml:3: model.width is 268435457, must be 1 to 268435456"
    );
    expect_refusal(
        "[model]\nkind = 'oracle'\nwidth = 0\n",
        "run.toml:3: model.width is 0, must be 1 to 268435456"
    );
    expect_refusal(
        "[model]\nwidth = 65536\n", "run.toml:2: model.width is 65536, must be 2 to 32768"
    );
}

TEST(ParseRun, RefusesAnUnknownModelName) {
    expect_refusal("model = 'demo2'\n", "run.toml:1: model: no model is named \"demo2\"");
}

TEST(ParseRun, RefusesAnUnknownKeyWithItsLineAndTheKnownOnes) {
    const std::string text = refusal("[run]\nseed = 1\nstep = 2\n");
    EXPECT_TRUE(text.starts_with("run.toml:3: run.step is unknown; [run] has ")) << text;
    EXPECT_NE(text.find("steps"), std::string::npos) << text;
}

TEST(ParseRun, RefusesAnUnknownTable) {
    expect_refusal("[run]\n[optimiser]\n", "run.toml:2: optimiser is unknown");
    expect_refusal("steps = 3\n", "run.toml:1: steps is unknown");
    expect_refusal("run = 3\n", "run.toml:1: run must be a table");
}

TEST(ParseRun, RefusesAValueOfAnotherTypeWithItsLine) {
    expect_refusal("[run]\n\nsteps = 'many'\n", "run.toml:3: run.steps must be a whole number");
    expect_refusal("[run]\nsteps = 2.5\n", "run.toml:2: run.steps must be a whole number");
    expect_refusal("[run]\nstages = -1\n", "run.toml:2: run.stages must be a whole number");
    expect_refusal("[run]\nbatch = 4294967296\n", "run.toml:2: run.batch must be a whole number");
    expect_refusal("[run]\nname = 3\n", "run.toml:2: run.name must be a string");
    expect_refusal(
        "[run]\nlayers_per_stage = [1, 'x']\n", "run.toml:2: run.layers_per_stage must be a list"
    );
    expect_refusal("[run]\nlayers_per_stage = 3\n", "run.toml:2: run.layers_per_stage must be");
    expect_refusal("[model]\nkind = 'gpt'\n", "run.toml:2: model.kind must be \"llama\"");
    expect_refusal(
        "[run]\npolicy = 'fastest'\n", "run.toml:2: run.policy must be \"expected_finish"
    );
    expect_refusal("[run]\nrebalancer = 1\n", "run.toml:2: run.rebalancer must be \"none\", \"cap");
    expect_refusal("[run]\nsplit = 'even'\n", "run.toml:2: run.split must be \"fixed\" or ");
    for (const std::string codec : {"zip", "auto/int8", "sparse", ""}) {
        expect_refusal(
            "[run]\ncodec = '" + codec + "'\n", "run.toml:2: run.codec must be \"auto\", \"none\", "
        );
    }
    expect_refusal(
        "[model]\ntied_embeddings = 1\n", "run.toml:2: model.tied_embeddings must be true or false"
    );
    expect_refusal("[optimizer]\nbeta1 = true\n", "run.toml:2: optimizer.beta1 must be a number");
}

TEST(ParseRun, RefusesAValueOutOfBoundsWithItsLine) {
    expect_refusal("[run]\nstages = 65\n[model]\nlayers = 70", "run.toml:2: run.stages is 65");
    expect_refusal("[run]\nstages = 7\n", "run.toml:2: run.stages is 7, must be at most");
    expect_refusal("[run]\nmicrobatches = 2049\n", "run.toml:2: run.microbatches is 2049");
    expect_refusal("[optimizer]\nbeta2 = 1.0\n", "run.toml:2: optimizer.beta2 must be");
    expect_refusal("[optimizer]\nlearning_rate = nan\n", "run.toml:2: optimizer.learning_rate");
}

TEST(ParseRun, ADefaultAtFaultIsNamedWithoutALine) {
    expect_refusal("[model]\nlayers = 2\n", "run.toml: run.stages is 3, must be at most");
}

TEST(ParseRun, RefusesTextThatIsNotToml) {
    expect_refusal("[run\n", "run.toml:1: ");
    expect_refusal("[run]\nseed = 1\nseed = 2\n", "run.toml:3: ");
    expect_refusal("\xff\xfe", "run.toml:1: ");
}

TEST(ParseRun, RefusesAFileThatNoAssignCouldCarry) {
    const std::string comment(protocol::kRunFileBytesMax + 1, '#');
    expect_refusal(comment, "run.toml: has 49153 bytes");
    EXPECT_EQ(refusal(std::string(protocol::kRunFileBytesMax, '#')), "");
}

TEST(NamedModel, TheDemoIsTheDefault) {
    const auto demo = named_model("demo");
    ASSERT_TRUE(demo.has_value());
    EXPECT_EQ(demo->layers, 6U);
    EXPECT_EQ(demo->width, 128U);
    EXPECT_EQ(demo->ffn_width, 344U);
    EXPECT_EQ(named_model("").error().code, ErrorCode::Usage);
}

struct BadRun {
    const char* key;
    void (*spoil)(RunConfig&);
};

const BadRun kBadRuns[] = {
    {"run.name", [](RunConfig& run) { run.name = "../elsewhere"; }},
    {"run.name", [](RunConfig& run) { run.name.clear(); }},
    {"run.seed", [](RunConfig& run) { run.seed = ~0ULL; }},
    {"run.steps", [](RunConfig& run) { run.steps = 0; }},
    {"run.stages", [](RunConfig& run) { run.stages = 0; }},
    {"run.microbatches", [](RunConfig& run) { run.microbatches = 0; }},
    {"run.batch", [](RunConfig& run) { run.batch = 0; }},
    {"run.batch", [](RunConfig& run) { run.batch = 64; }},
    {"run.in_flight", [](RunConfig& run) { run.in_flight = 4096; }},
    {"run.min_peers", [](RunConfig& run) { run.min_peers = 20000; }},
    {"run.min_holders", [](RunConfig& run) { run.min_holders = 0; }},
    {"run.min_holders", [](RunConfig& run) { run.min_holders = 65; }},
    {"run.rebalance_every_s", [](RunConfig& run) { run.rebalance_every_s = 0; }},
    {"run.tokenizer", [](RunConfig& run) { run.tokenizer = "bpe"; }},
    {"run.tokenizer",
     [](RunConfig& run) {
         run.model = *named_model("oracle");
         run.tokenizer = "spm:2000";
     }},
    {"model.vocabulary", [](RunConfig& run) { run.tokenizer = "spm:2000"; }},
    {"run.tokenizer_sha256", [](RunConfig& run) { run.tokenizer_sha256 = std::string(64, 'a'); }},
    {"run.tokenizer_sha256",
     [](RunConfig& run) {
         run.tokenizer = "spm:2000";
         run.tokenizer_sha256 = "abc";
         follow_tokenizer(run);
     }},
    {"run.layers_per_stage", [](RunConfig& run) { run.layers_per_stage = {6}; }},
    {"run.layers_per_stage",
     [](RunConfig& run) {
         run.layers_per_stage = {0, 3, 3};
     }},
    {"run.layers_per_stage",
     [](RunConfig& run) {
         run.layers_per_stage = {2, 2, 3};
     }},
    {"model.layers", [](RunConfig& run) { run.model.layers = 0; }},
    {"model.layers", [](RunConfig& run) { run.model.layers = 449; }},
    {"model.repeat", [](RunConfig& run) { run.model.repeat = 0; }},
    {"model.repeat", [](RunConfig& run) { run.model.repeat = 65; }},
    {"model.repeat",
     [](RunConfig& run) {
         run.model.layers = 33;
         run.model.repeat = 32;
     }},
    {"model.repeat",
     [](RunConfig& run) {
         run.model = *named_model("oracle");
         run.model.repeat = 2;
     }},
    {"model.repeat",
     [](RunConfig& run) {
         run.init = "base";
         run.model.repeat = 2;
     }},
    {"model.context", [](RunConfig& run) { run.model.context = 0; }},
    {"model.context", [](RunConfig& run) { run.model.context = ~0U; }},
    {"model.width", [](RunConfig& run) { run.model.width = 1U << 16; }},
    {"model.heads", [](RunConfig& run) { run.model.heads = 0; }},
    {"model.heads", [](RunConfig& run) { run.model.heads = 3; }},
    {"model.heads", [](RunConfig& run) { run.model.heads = 128; }},
    {"model.kv_heads", [](RunConfig& run) { run.model.kv_heads = 0; }},
    {"model.kv_heads", [](RunConfig& run) { run.model.kv_heads = 3; }},
    {"model.ffn_width", [](RunConfig& run) { run.model.ffn_width = 0; }},
    {"model.vocabulary", [](RunConfig& run) { run.model.vocabulary = 255; }},
    {"model.rope_base", [](RunConfig& run) { run.model.rope_base = 0; }},
    {"model.norm_epsilon", [](RunConfig& run) { run.model.norm_epsilon = 0; }},
    {"eval.texts",
     [](RunConfig& run) {
         run.model = *named_model("oracle");
         run.eval.texts = {"held-out.txt"};
     }},
    {"eval.texts",
     [](RunConfig& run) {
         run.mode = SyncMode::Sparse;
         run.eval.texts = {"held-out.txt"};
     }},
    {"eval.every_steps", [](RunConfig& run) { run.eval.every_steps = 0; }},
    {"eval.batches", [](RunConfig& run) { run.eval.batches = 1025; }},
    {"model.tied_embeddings",
     [](RunConfig& run) {
         run.model = *named_model("oracle");
         run.model.tied_embeddings = true;
     }},
    {"model.tied_embeddings",
     [](RunConfig& run) {
         run.mode = SyncMode::Sparse;
         run.model.tied_embeddings = true;
     }},
    {"optimizer.beta1", [](RunConfig& run) { run.optimizer.beta1 = -0.1; }},
    {"optimizer.epsilon", [](RunConfig& run) { run.optimizer.epsilon = 0; }},
    {"optimizer.weight_decay", [](RunConfig& run) { run.optimizer.weight_decay = 1; }},
    {"optimizer.clip_norm", [](RunConfig& run) { run.optimizer.clip_norm = 0; }},
    {"optimizer.warmup_tokens", [](RunConfig& run) { run.optimizer.warmup_tokens = 5000; }},
    {"optimizer.decay_steps", [](RunConfig& run) { run.optimizer.decay_steps = 6; }},
    {"optimizer.no_decay", [](RunConfig& run) { run.optimizer.no_decay = {"layers.6"}; }},
    {"run.first_microbatches", [](RunConfig& run) { run.first_microbatches = 9; }},
    {"run.first_microbatches",
     [](RunConfig& run) {
         run.first_microbatches = 4;
         run.grow_steps = 5;
         run.mode = SyncMode::Sparse;
     }},
    {"run.grow_steps", [](RunConfig& run) { run.first_microbatches = 4; }},
    {"train.separate_documents",
     [](RunConfig& run) {
         run.model = *named_model("oracle");
         run.train.separate_documents = true;
     }},
    {"train.document_end", [](RunConfig& run) { run.train.document_end = {256}; }},
    {"loop.every", [](RunConfig& run) { run.loop.every = 100; }},
    {"train.document_end",
     [](RunConfig& run) {
         run.train.document_end = {1, 2};
     }},
};

TEST(CheckRun, NamesTheKeyOfEachBrokenRule) {
    for (const BadRun& bad : kBadRuns) {
        RunConfig run;
        bad.spoil(run);
        const auto checked = check_run(run);
        ASSERT_TRUE(checked.has_error()) << bad.key;
        EXPECT_TRUE(checked.error().detail.starts_with(std::string(bad.key) + " "))
            << bad.key << ": " << checked.error().detail;
    }
}

TEST(ParseRun, TheModelHasTheTokensOfItsTokenizer) {
    const auto followed = parse_run("[run]\ntokenizer = \"spm:2000\"\n", "run.toml");
    ASSERT_TRUE(followed.has_value()) << followed.error().detail;
    EXPECT_EQ(followed->model.vocabulary, 2000U);
    const auto named = parse_run("model = \"demo\"\n[run]\ntokenizer = \"spm:300\"\n", "run.toml");
    ASSERT_TRUE(named.has_value()) << named.error().detail;
    EXPECT_EQ(named->model.vocabulary, 300U);
    const auto back = parse_run(to_toml(*followed), "run.toml");
    ASSERT_TRUE(back.has_value()) << back.error().detail;
    EXPECT_EQ(back->tokenizer, "spm:2000");
    EXPECT_EQ(back->model.vocabulary, 2000U);
    expect_refusal(
        "[run]\ntokenizer = \"spm:2000\"\n[model]\nvocabulary = 256\n",
        "run.toml:4: model.vocabulary is 256, must be what run.tokenizer spm:2000 has"
    );
}

TEST(CheckRun, RefusesUnknownTokenizers) {
    for (const char* const name :
         {"spm",
          "spm:",
          "spm:0",
          "spm:299",
          "spm:65537",
          "spm:1000000000",
          "spm:99999999999999999999",
          "spm:-2",
          "spm:02000",
          "spm:2000 ",
          "SPM:2000",
          ""}) {
        RunConfig run;
        run.tokenizer = name;
        follow_tokenizer(run);
        const auto checked = check_run(run);
        ASSERT_TRUE(checked.has_error()) << name;
        EXPECT_NE(checked.error().detail.find("N from 300 to 65536"), std::string::npos)
            << checked.error().detail;
    }
    for (const char* const name : {"bytes", "spm:300", "spm:65536"}) {
        RunConfig run;
        run.tokenizer = name;
        follow_tokenizer(run);
        EXPECT_TRUE(check_run(run).has_value()) << name;
    }
}

TEST(ParseRun, ReadsTheModeAndItsKeys) {
    const auto run = parse_run(
        "[run]\nmode = 'sparse'\nsync_every = 4\nreplicas = 3\ncheckpoint_every = 8\n", "run.toml"
    );
    ASSERT_TRUE(run.has_value()) << run.error().detail;
    EXPECT_EQ(run->mode, SyncMode::Sparse);
    EXPECT_EQ(steps_between_syncs(*run), 4U);
    EXPECT_EQ(replicas_alone(*run), 3U);
    const auto back = parse_run(to_toml(*run), "run.toml");
    ASSERT_TRUE(back.has_value()) << back.error().detail;
    EXPECT_EQ(back->mode, SyncMode::Sparse);
    EXPECT_EQ(back->sync_every, 4U);
    EXPECT_EQ(back->replicas, 3U);
    expect_refusal(
        "[run]\nmode = 'fast'\n", "run.toml:2: run.mode must be \"exact\" or \"sparse\""
    );
    expect_refusal("[run]\nsync_every = 2\n", "run.toml:2: run.sync_every must be left out");
}

TEST(ParseRun, AWarmUpInTokensStandsInForThatInSteps) {
    const auto run = parse_run("[optimizer]\nwarmup_tokens = 5000\n", "run.toml");
    ASSERT_TRUE(run.has_value()) << run.error().detail;
    EXPECT_EQ(run->optimizer.warmup_tokens, 5000U);
    EXPECT_EQ(run->optimizer.warmup_steps, 0U);
    expect_refusal(
        "[optimizer]\nwarmup_steps = 3\nwarmup_tokens = 5000\n",
        "run.toml:3: optimizer.warmup_tokens is 5000 and optimizer.warmup_steps is 3: leave one"
    );
    EXPECT_EQ(refusal("[optimizer]\nwarmup_steps = 3\nwarmup_tokens = 0\n"), "");
}

TEST(ParseRun, RefusesUnknownGroupsWithoutDecay) {
    expect_refusal(
        "[optimizer]\nno_decay = ['embed', 'layer.3']\n",
        "run.toml:2: optimizer.no_decay names \"layer.3\"; the groups are embed, head, norms, "
        "bias, attn, mlp, experts, router and layers.0 to layers.5"
    );
    expect_refusal(
        "[optimizer]\nno_decay = 'embed'\n", "run.toml:2: optimizer.no_decay must be a list of str"
    );
    expect_refusal("[optimizer]\nno_decay = [3]\n", "run.toml:2: optimizer.no_decay must be a l");
}

TEST(ParseRun, ReadsTheScheduleOfTheLearningRate) {
    const auto run = parse_run("[optimizer]\nschedule = 'wsd'\ndecay_steps = 9\n", "run.toml");
    ASSERT_TRUE(run.has_value()) << run.error().detail;
    EXPECT_EQ(run->optimizer.schedule, Schedule::Wsd);
    EXPECT_EQ(run->optimizer.decay_steps, 9U);
    expect_refusal(
        "[optimizer]\nschedule = 'step'\n",
        "run.toml:2: optimizer.schedule must be \"cosine\", \"linear\", \"wsd\" or \"constant\""
    );
    expect_refusal(
        "[optimizer]\nschedule = 'linear'\ndecay_steps = 9\n",
        "run.toml:3: optimizer.decay_steps must be left out where optimizer.schedule is not wsd"
    );
}

TEST(SyncModes, NamesTheKeyOfEachBrokenRule) {
    const BadRun of_exact[] = {
        {"run.sync_every", [](RunConfig& run) { run.sync_every = 4; }},
        {"run.replicas", [](RunConfig& run) { run.replicas = 2; }},
    };
    const BadRun of_sparse[] = {
        {"run.sync_every", [](RunConfig& run) { run.sync_every = 1001; }},
        {"run.replicas", [](RunConfig& run) { run.replicas = 65; }},
        {"run.replicas", [](RunConfig& run) { run.replicas = 9; }},
        {"run.replicas", [](RunConfig& run) { run.microbatches = 1; }},
        {"run.checkpoint_every", [](RunConfig& run) { run.checkpoint_every = 12; }},
    };
    const auto expect_named = [](SyncMode mode, const BadRun& bad) {
        RunConfig run;
        run.mode = mode;
        bad.spoil(run);
        const auto checked = check_run(run);
        ASSERT_TRUE(checked.has_error()) << bad.key;
        EXPECT_TRUE(checked.error().detail.starts_with(std::string(bad.key) + " "))
            << bad.key << ": " << checked.error().detail;
    };
    for (const BadRun& bad : of_exact) {
        expect_named(SyncMode::Exact, bad);
    }
    for (const BadRun& bad : of_sparse) {
        expect_named(SyncMode::Sparse, bad);
    }
}

TEST(CheckRun, TakesTheDemoAndTheOracle) {
    RunConfig run;
    EXPECT_TRUE(check_run(run).has_value());
    run.model = *named_model("oracle");
    EXPECT_TRUE(check_run(run).has_value());
}

TEST(CheckRun, TakesTheLargestModelThatFitsAFrame) {
    RunConfig run;
    run.batch = 1;
    run.model.context = 2048;
    run.model.width = 1U << 15;
    run.model.heads = 256;
    EXPECT_TRUE(check_run(run).has_value()) << check_run(run).error().detail;
    run.batch = 2;
    EXPECT_TRUE(check_run(run).has_error());
}

}  // namespace
}  // namespace swarm::run

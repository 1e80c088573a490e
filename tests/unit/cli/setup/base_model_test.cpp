#include "swarm/cli/setup/base_model.hpp"

#include "stacking/models/hf_folder.hpp"
#include "stacking/models/run_checkpoint.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "stages/files/checkpoint.hpp"
#include "swarm/cli/setup/run_setup.hpp"
#include "swarm/run/partition.hpp"
#include "tests/unit/stacking_tokenizers/small_vocabulary.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using stacking::tokenizers::ByteBpe;
using stacking::tokenizers::ModelTokenizer;

/// A run of a small Qwen3, which other runs begin with.
run::RunConfig seed_config() {
    run::RunConfig config;
    config.stages = 2;
    config.model.kind = run::ModelKind::Qwen3;
    config.model.layers = 3;
    config.model.width = 16;
    config.model.heads = 2;
    config.model.kv_heads = 1;
    config.model.head_width = 6;
    config.model.ffn_width = 24;
    config.model.vocabulary = 300;
    config.model.context = 64;
    return config;
}

class BaseModelTest : public testing::Test {
 protected:
    void SetUp() override {
        const run::RunConfig config = seed_config();
        for (const run::StageLayout& layout : run::partition(config)) {
            seed_.push_back(stages::StageState::from_seed(config, layout));
        }
        std::vector<const stages::StageState*> states;
        for (const stages::StageState& state : seed_) {
            states.push_back(&state);
        }
        const auto written = stages::write_checkpoint(scratch_.path(), config, states);
        ASSERT_TRUE(written.has_value()) << written.error().detail;
        run_ = written->string();
    }

    /// The same weights as a Hugging Face folder with a tokenizer of its own.
    std::string export_it() {
        const fs::path folder = scratch_.path() / "exported";
        const auto source = stacking::models::open_run_checkpoint(run_);
        EXPECT_TRUE(source.has_value()) << source.error().detail;
        const auto nothing = [](std::uint64_t, std::uint64_t) {};
        EXPECT_TRUE(stacking::models::write_hf_folder(*source, folder, nothing));
        auto bpe = ByteBpe::make(stacking::tokenizers::test::small_vocabulary());
        const ModelTokenizer tokenizer(std::move(*bpe), "{{ messages }}");
        EXPECT_TRUE(write_tokenizer(tokenizer, std::nullopt, folder));
        return folder.string();
    }

    static std::string refusal(run::RunConfig config) {
        const auto base = open_base_model(config, {});
        if (base) {
            const auto states = first_states(*base, config);
            return states ? "" : states.error().detail;
        }
        EXPECT_EQ(base.error().reaction, Reaction::Reject);
        return base.error().detail;
    }

    stages::test::ScratchFolder scratch_;
    std::vector<stages::StageState> seed_;
    std::string run_;
};

TEST_F(BaseModelTest, GivesItsShapeAndItsWeightsForAnySplit) {
    run::RunConfig config;
    config.init = run_;
    config.stages = 3;
    config.model.context = 32;
    const auto base = open_base_model(config, {});
    ASSERT_TRUE(base.has_value()) << base.error().detail;
    EXPECT_EQ(base->tokenizer, "");
    EXPECT_EQ(config.tokenizer, "bytes");
    EXPECT_EQ(config.model.kind, run::ModelKind::Qwen3);
    EXPECT_EQ(config.model.head_width, 6U);
    EXPECT_EQ(config.model.context, 32U);
    EXPECT_EQ(config.model.max_context, 64U);
    ASSERT_TRUE(check_run(config)) << check_run(config).error().detail;
    const auto states = first_states(*base, config);
    ASSERT_TRUE(states.has_value()) << states.error().detail;
    ASSERT_EQ(states->size(), 3U);
    std::vector<float> wanted;
    std::vector<float> got;
    for (const stages::StageState& state : seed_) {
        wanted.insert(wanted.end(), state.weights().begin(), state.weights().end());
    }
    for (const stages::StageState& state : *states) {
        got.insert(got.end(), state.weights().begin(), state.weights().end());
        EXPECT_EQ(state.version(), ParameterVersion{});
        EXPECT_TRUE(std::ranges::all_of(state.first_moments(), [](float m) { return m == 0; }));
        EXPECT_TRUE(std::ranges::all_of(state.second_moments(), [](float m) { return m == 0; }));
    }
    EXPECT_EQ(got, wanted);
}

TEST_F(BaseModelTest, IsTheSameBeginningInAnotherFormat) {
    run::RunConfig from_run;
    from_run.init = run_;
    const auto of_run = open_base_model(from_run, {});
    ASSERT_TRUE(of_run && first_states(*of_run, from_run));
    run::RunConfig config;
    config.init = "exported";
    export_it();
    const auto base = open_base_model(config, scratch_.path());
    ASSERT_TRUE(base.has_value()) << base.error().detail;
    EXPECT_TRUE(fs::path(config.init).is_absolute()) << config.init;
    EXPECT_EQ(config.tokenizer, "model");
    EXPECT_TRUE(base->tokenizer.starts_with("{")) << "it is a tokenizer.json";
    ASSERT_TRUE(first_states(*base, config));
    EXPECT_EQ(config.init_sha256, from_run.init_sha256);
    EXPECT_EQ(config.init_sha256.size(), 64U);
}

TEST_F(BaseModelTest, RefusesWhatDoesNotFit) {
    const auto with = [&](void (*spoil)(run::RunConfig&)) {
        run::RunConfig config;
        config.init = run_;
        spoil(config);
        return refusal(config);
    };
    EXPECT_EQ(with([](run::RunConfig&) {}), "");
    EXPECT_NE(
        with([](run::RunConfig& config) { config.model.layers = 12; }
        ).find("its model.layers is 3, the run file says 12"),
        std::string::npos
    );
    EXPECT_NE(
        with([](run::RunConfig& config) { config.model.context = 65; }).find("at most 64"),
        std::string::npos
    );
    EXPECT_NE(
        with([](run::RunConfig& config) { config.tokenizer = "spm:2000"; }
        ).find("trained with the tokenizer bytes"),
        std::string::npos
    );
    EXPECT_NE(
        with([](run::RunConfig& config) { config.init_sha256 = std::string(64, 'a'); }
        ).find("other weights than run.init_sha256"),
        std::string::npos
    );
    EXPECT_NE(
        with([](run::RunConfig& config) { config.init = "/nowhere/model"; }).find("/nowhere/model"),
        std::string::npos
    );
}

TEST_F(BaseModelTest, ARunFileNamesItFromItsOwnFolder) {
    export_it();
    const fs::path file = scratch_.path() / "run.toml";
    std::ofstream(file) << "[run]\ninit = \"exported\"\nstages = 3\n[model]\ncontext = 32\n";
    const auto config = resolve_run(file, {});
    ASSERT_TRUE(config.has_value()) << config.error().detail;
    EXPECT_EQ(config->model.layers, 3U);
    EXPECT_EQ(config->tokenizer, "model");
    std::ofstream(file) << "[run]\ninit = \"exported\"\nstages = 4\n";
    const auto refused = resolve_run(file, {});
    ASSERT_TRUE(refused.has_error());
    EXPECT_NE(refused.error().detail.find("run.stages is 4"), std::string::npos);
    RunFlags two;
    two.init = run_;
    two.model = "demo";
    EXPECT_NE(resolve_run("", two).error().detail.find("name two models"), std::string::npos);
}

}  // namespace
}  // namespace swarm::cli

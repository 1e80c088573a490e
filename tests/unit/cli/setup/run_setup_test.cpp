#include "swarm/cli/setup/run_setup.hpp"

#include "swarm/cli/common/files.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <unistd.h>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

/// A file that is removed with the object.
class TextFile {
 public:
    explicit TextFile(const std::string& text) { std::ofstream(path_) << text; }

    TextFile(const TextFile&) = delete;
    TextFile& operator=(const TextFile&) = delete;

    ~TextFile() { fs::remove(path_); }

    [[nodiscard]] const fs::path& path() const { return path_; }

 private:
    fs::path path_ = fs::path(testing::TempDir()) /
                     ("run-setup-" + std::to_string(::getpid()) + "-" +
                      testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST(ResolveRun, AFlagBeatsTheFileAndTheFileBeatsTheDefault) {
    const TextFile file("[run]\nsteps = 5\nseed = 9\n");
    RunFlags flags;
    flags.steps = 7;
    const auto config = resolve_run(file.path(), flags);
    ASSERT_TRUE(config) << config.error().detail;
    EXPECT_EQ(config->steps, 7U);
    EXPECT_EQ(config->seed, 9U);
    EXPECT_EQ(config->microbatches, run::RunConfig{}.microbatches);
}

TEST(ResolveRun, TakesAModeFromTheFileOrAFlag) {
    const TextFile file("[run]\nmode = 'sparse'\nsync_every = 4\n");
    const auto said = resolve_run(file.path(), {});
    ASSERT_TRUE(said) << said.error().detail;
    EXPECT_EQ(said->mode, run::SyncMode::Sparse);
    RunFlags flags;
    flags.mode = "exact";
    EXPECT_FALSE(resolve_run(file.path(), flags)) << "sync_every means nothing then";
    flags.mode = "sparse";
    flags.replicas = 3;
    EXPECT_EQ(resolve_run("", flags)->replicas, 3U);
}

TEST(ResolveRun, WithoutAFileTheDefaultsHold) {
    const auto config = resolve_run("", {});
    ASSERT_TRUE(config);
    EXPECT_EQ(config->model.kind, run::ModelKind::Llama);
}

TEST(ResolveRun, RefusesAMissingFileByName) {
    const auto config = resolve_run("/nowhere/run.toml", {});
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().reaction, Reaction::Reject);
    EXPECT_NE(config.error().detail.find("/nowhere/run.toml"), std::string::npos);
}

TEST(ResolveRun, RefusesMoreStagesThanLayers) {
    RunFlags flags;
    flags.stages = 7;
    const auto config = resolve_run("", flags);
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().reaction, Reaction::Reject);
}

TEST(ResolveRun, RefusesAnUnknownModelAndAnUnknownKey) {
    RunFlags flags;
    flags.model = "giant";
    EXPECT_FALSE(resolve_run("", flags));
    const TextFile file("[run]\nstepz = 5\n");
    EXPECT_FALSE(resolve_run(file.path(), {}));
}

TEST(ResolveRun, AnotherNumberOfStagesDropsTheSplitOfTheFile) {
    const TextFile file("[run]\nstages = 2\nlayers_per_stage = [2, 4]\n");
    RunFlags flags;
    flags.stages = 3;
    const auto config = resolve_run(file.path(), flags);
    ASSERT_TRUE(config) << config.error().detail;
    EXPECT_TRUE(config->layers_per_stage.empty());
}

TEST(ResolveRun, ASettingComesAfterFileAndFlags) {
    const TextFile file("[run]\nsteps = 5\n[optimizer]\nlearning_rate = 1.0\n");
    RunFlags flags;
    flags.model = "oracle";
    flags.steps = 7;
    flags.settings = {{"run.steps", "9"}, {"model.width", "64"}, {"optimizer.learning_rate", "2"}};
    const auto config = resolve_run(file.path(), flags);
    ASSERT_TRUE(config) << config.error().detail;
    EXPECT_EQ(config->steps, 9U);
    EXPECT_EQ(config->model.kind, run::ModelKind::Oracle);
    EXPECT_EQ(config->model.width, 64U);
    EXPECT_EQ(config->optimizer.learning_rate, 2.0);
    flags.settings = {{"run.stages", "7"}};
    EXPECT_FALSE(resolve_run(file.path(), flags)) << "the rules of a run hold";
}

TEST(CorpusFolder, IsTheCurrentOneForATextOfTheCommandLine) {
    EXPECT_EQ(corpus_folder("a/run.toml", {}), "a");
    RunFlags flags;
    flags.settings = {{"run.corpus", "b.txt"}};
    EXPECT_EQ(corpus_folder("a/run.toml", flags), "");
}

TEST(ResolveRun, TheModelFollowsTheTokenizer) {
    RunFlags flags;
    flags.tokenizer = "spm:2000";
    const auto plain = resolve_run("", flags);
    ASSERT_TRUE(plain) << plain.error().detail;
    EXPECT_EQ(plain->model.vocabulary, 2000U);
    flags.model = "demo";
    EXPECT_EQ(resolve_run("", flags)->model.vocabulary, 2000U);
    flags.model = "oracle";
    EXPECT_FALSE(resolve_run("", flags));

    const TextFile file(
        "[run]\ntokenizer = \"spm:2000\"\ntokenizer_sha256 = \"" + std::string(64, 'a') + "\"\n"
    );
    EXPECT_EQ(resolve_run(file.path(), {})->model.vocabulary, 2000U);
    for (const auto& [name, tokens] : {std::pair("spm:300", 300U), std::pair("bytes", 256U)}) {
        RunFlags other;
        other.tokenizer = name;
        const auto changed = resolve_run(file.path(), other);
        ASSERT_TRUE(changed) << changed.error().detail;
        EXPECT_EQ(changed->model.vocabulary, tokens);
        EXPECT_EQ(changed->tokenizer_sha256, "");  // the hash was that of the former tokenizer
    }
}

}  // namespace
}  // namespace swarm::cli

// `train --resume` with other settings, another text, and the checkpoints that stay.
#include "tests/process/train_bed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>

namespace swarm::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr int kRefused = 3;
constexpr const char* kBeta = "beta2 = 0.94999999999999996";

/// Changes a line of the run.toml in the folder of a run.
void edit(const fs::path& run, const std::string& before, const std::string& after) {
    std::string text = read_text(run / "run.toml");
    const std::size_t at = text.find(before);
    ASSERT_NE(at, std::string::npos) << text;
    std::ofstream(run / "run.toml") << text.replace(at, before.size(), after);
}

class ResumeChangesTest : public TrainBed {
 protected:
    /// Returns what each file of the run holds.
    std::vector<std::string> files_of_run() const {
        std::vector<std::string> files;
        for (const auto& entry : fs::recursive_directory_iterator(directory)) {
            if (entry.is_regular_file()) {
                files.push_back(entry.path().string() + ": " + read_text(entry.path()));
            }
        }
        std::ranges::sort(files);
        return files;
    }

    void expect_refused(const std::vector<std::string>& more, const std::string& text) {
        const auto before = files_of_run();
        Program program(train(more), folder.path());
        EXPECT_EQ(program.wait(seconds(60)), kRefused) << program.err();
        EXPECT_NE(program.err().find(text), std::string::npos) << program.err();
        EXPECT_EQ(files_of_run(), before) << "it wrote before the answer: " << program.err();
    }

    void train_single(std::vector<std::string> more) {
        more.insert(more.begin(), "--single");
        Program program(train(more), folder.path());
        ASSERT_EQ(program.wait(seconds(60)), 0) << program.err();
        err = program.err();
    }

    /// Returns the names of the checkpoints that are there, in order.
    std::vector<std::string> checkpoints() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(directory)) {
            if (entry.path().filename().string().starts_with("checkpoint-")) {
                names.push_back(entry.path().filename());
            }
        }
        std::ranges::sort(names);
        return names;
    }

    std::string err;
};

TEST_F(ResumeChangesTest, OneProcessSaysWhatChangedAndAsksForWhatChangesTheTraining) {
    train_single({"--model", "oracle", "--stages", "2", "--steps", "6"});
    expect_refused(
        {"--single", "--resume", "--stages", "3", "--steps", "9"}, "run.stages was 2, is 3"
    );
    expect_refused(
        {"--single", "--resume", "--seed", "2", "--accept-changes"}, "run.seed was 1, is 2"
    );
    train_single({"--resume", "--stages", "3", "--steps", "9", "--accept-changes"});
    EXPECT_NE(err.find("run.stages: was 2, now 3"), std::string::npos) << err;
    EXPECT_NE(err.find("run.steps: was 6, now 9"), std::string::npos) << err;
    train_single({"--resume", "--steps", "12"});
    EXPECT_NE(err.find("run.steps: was 9, now 12"), std::string::npos) << err;
    EXPECT_EQ(err.find("run.stages"), std::string::npos) << "it was accepted before";
}

TEST_F(ResumeChangesTest, ARunFileThatWasEditedInItsFolderIsAChangeToo) {
    train_single({"--model", "oracle", "--steps", "4"});
    edit(directory, "microbatches = 8", "microbatches = 9");
    expect_refused({"--single", "--resume"}, "run.microbatches was 8, is 9");
}

TEST_F(ResumeChangesTest, ASingleKeyIsSetByItsName) {
    train_single({"--model", "oracle", "--steps", "4"});
    expect_refused(
        {"--single", "--resume", "--set", "optimizer.learning_rte=1"},
        "optimizer.learning_rte is unknown; the nearest key is optimizer.learning_rate"
    );
    expect_refused(
        {"--single", "--resume", "--set", "optimizer.no_decay=layers.0"},
        "optimizer.no_decay was [], is [ \"layers.0\" ]"
    );
    train_single(
        {"--resume",
         "--steps",
         "6",
         "--set",
         "optimizer.learning_rate=0.25",
         "--set",
         "optimizer.schedule=constant"}
    );
    EXPECT_NE(err.find("optimizer.learning_rate: was 0.003, now 0.25"), std::string::npos) << err;
    EXPECT_NE(err.find("on record: run.toml has the new values"), std::string::npos) << err;
    for (const char* const file : {"run.toml", "last-run.toml"}) {
        EXPECT_NE(read_text(directory / file).find("learning_rate = 0.25\n"), std::string::npos);
    }
    EXPECT_NE(read_text(directory / "metrics.jsonl").find("\"lr\":1.5E-1"), std::string::npos)
        << "step 6 of a warm-up of 10";
    EXPECT_EQ(err.find("is above"), std::string::npos) << err;
    train_single(
        {"--resume",
         "--set",
         "optimizer.schedule=linear",
         "--set",
         "optimizer.learning_rate=1e-4",
         "--steps",
         "8"}
    );
    EXPECT_NE(err.find("final_learning_rate (0.0003) is above"), std::string::npos) << err;
}

TEST_F(ResumeChangesTest, PeersThatLiveOnTakeTheNewSettingsAtTheCheckpoint) {
    const std::string file = (folder.path() / "run.toml").string();
    std::ofstream(file) << "model = 'oracle'\n[run]\nsteps = 30\nstages = 2\n"
                           "checkpoint_every = 10\n";
    auto coordinator = std::make_unique<Program>(train({file}), folder.path());
    start_peers(3, "5");
    ASSERT_TRUE(coordinator->wait_for_text("step 13/", seconds(60))) << coordinator->err();
    coordinator->signal(SIGKILL);
    coordinator->wait(seconds(10));
    expect_refused({"--resume", "--stages", "3"}, "the run then goes back from step ");
    edit(directory, kBeta, "beta2 = 0.5");
    expect_refused({"--resume"}, "optimizer.beta2 was 0.95, is 0.5");
    Program changed(train({"--resume", "--accept-changes"}), folder.path());
    ASSERT_EQ(changed.wait(seconds(120)), 0) << changed.err();
    EXPECT_NE(changed.err().find("optimizer.beta2: was 0.95, now 0.5"), std::string::npos)
        << changed.err();
    EXPECT_NE(changed.err().find("all peers download the checkpoint of step 10"), std::string::npos)
        << changed.err();
    for (const auto& peer : peers) {
        EXPECT_EQ(peer->wait(seconds(20)), 0) << peer->err();
    }
    // Steps 1 to 10 with the one value, the others with the other: one process does the same.
    const fs::path alone = folder.path() / "alone";
    const auto single = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"train", "--single", "--dir", alone.string()});
        Program program(more, folder.path());
        EXPECT_EQ(program.wait(seconds(60)), 0) << program.err();
        return weights_of(program);
    };
    single({file});
    fs::remove_all(alone / "checkpoint-0-20");
    fs::remove_all(alone / "checkpoint-0-30");
    edit(alone, kBeta, "beta2 = 0.5");
    const std::string expected = single({"--resume", "--accept-changes"});
    EXPECT_NE(expected, single_weights("2", "30")) << "the value changes nothing";
    EXPECT_EQ(weights_of(changed), expected);
}

TEST_F(ResumeChangesTest, OldCheckpointsGoAndEveryNthStays) {
    const std::string file = (folder.path() / "run.toml").string();
    std::ofstream(file) << "model = 'oracle'\n[run]\nsteps = 20\nstages = 2\n"
                           "checkpoint_every = 2\ncheckpoint_keep_every = 8\n";
    train_single({file});
    const std::vector<std::string> left{
        "checkpoint-0-16", "checkpoint-0-18", "checkpoint-0-20", "checkpoint-0-8"};
    EXPECT_EQ(checkpoints(), left);

    fs::remove_all(directory);
    std::ofstream(file) << "model = 'oracle'\n[run]\nsteps = 20\nstages = 2\n"
                           "checkpoint_every = 1\ncheckpoint_keep = 2\n";
    Program coordinator(train({file}), folder.path());
    start_peers(2, "5");
    ASSERT_EQ(coordinator.wait(seconds(60)), 0) << coordinator.err();
    const std::string log = coordinator.err();
    EXPECT_NE(log.find("wrote"), log.rfind("wrote")) << log;
    ASSERT_EQ(checkpoints().size(), 2U) << log;  // those that were due meanwhile are not made
    EXPECT_EQ(std::ranges::count(checkpoints(), "checkpoint-0-20"), 1);
}

#ifdef SWARM_WITH_TORCH
TEST_F(ResumeChangesTest, LoopedStepsAreThoseOfARunWithoutAStop) {
    const std::string file = (folder.path() / "run.toml").string();
    std::ofstream(file) << "[run]\nsteps = 9\nstages = 1\nmicrobatches = 2\nbatch = 2\n"
                           "checkpoint_every = 3\n[model]\nlayers = 2\nwidth = 32\nheads = 2\n"
                           "kv_heads = 2\nffn_width = 64\ncontext = 32\n[loop]\nevery = 2\n";
    const auto weights_after = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words{"--single"};
        words.insert(words.end(), more.begin(), more.end());
        Program program(train(words), folder.path());
        EXPECT_EQ(program.wait(seconds(60)), 0) << program.err();
        err = program.err();
        return weights_of(program);
    };
    const std::string whole = weights_after({file});
    const auto line_of = [&](const std::string& step) {
        const std::size_t begin = err.find("step " + step + "/9");
        return err.substr(begin, err.find('\n', begin) - begin);
    };
    EXPECT_NE(line_of("6").find("  looped"), std::string::npos) << err;
    EXPECT_EQ(line_of("7").find("  looped"), std::string::npos) << err;
    fs::remove_all(directory / "checkpoint-0-6");
    fs::remove_all(directory / "checkpoint-0-9");
    EXPECT_EQ(weights_after({"--resume"}), whole) << err;
    EXPECT_NE(line_of("6").find("  looped"), std::string::npos) << err;
    fs::remove_all(directory);
    EXPECT_NE(weights_after({file, "--set", "loop.every=0"}), whole);
    expect_refused({"--single", "--resume", "--set", "loop.every=2"}, "loop.every was 0, is 2");
}
#endif

TEST_F(ResumeChangesTest, ARunOfAnEarlierVersionSaysBeforeItRemovesCheckpoints) {
    const std::string file = (folder.path() / "run.toml").string();
    std::ofstream(file) << "model = 'oracle'\n[run]\nsteps = 10\ncheckpoint_every = 2\n"
                           "checkpoint_keep = 0\n";
    train_single({file});
    EXPECT_EQ(checkpoints().size(), 5U);
    std::string text = read_text(directory / "run.toml");
    text.erase(text.find("checkpoint_keep = 0"), 20);
    std::ofstream(directory / "run.toml") << text;
    fs::remove(directory / "last-run.toml");
    train_single({"--resume", "--steps", "12"});
    EXPECT_NE(err.find("the next checkpoint removes 2 older ones"), std::string::npos) << err;
    EXPECT_EQ(checkpoints().size(), 3U);
}

}  // namespace
}  // namespace swarm::test

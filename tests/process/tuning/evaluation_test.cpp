// Held-out evaluations of runs with real processes: peers find what one process finds.
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace swarm::test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using std::chrono::seconds;

constexpr const char* kSmallModel =
    "[model]\nlayers = 4\nwidth = 32\nheads = 2\nkv_heads = 1\nffn_width = 64\ncontext = 32\n";

class EvaluationTest : public testing::Test {
 protected:
    void SetUp() override {
        for (const char* const name : {"corpus.txt", "held.txt", "other.txt"}) {
            std::ofstream text(file(name));
            for (int i = 0; i < 2000; ++i) {
                text << name[0] << i * i % 997 << (i % 7 == 0 ? "\n" : " ");
            }
        }
    }

    void write_run(const std::string& run, const std::string& eval, const std::string& rate = "") {
        std::ofstream(file("run.toml"))
            << "[run]\ncorpus = \"corpus.txt\"\nstages = 2\nmicrobatches = 4\nbatch = 4\n"
            << "checkpoint_every = 2\n" << run << kSmallModel << "[optimizer]\nwarmup_steps = 0\n"
            << (rate.empty() ? "" : "learning_rate = " + rate + "\nfinal_learning_rate = 0.0\n")
            << "[eval]\n" << eval;
    }

    int swarm(const std::vector<std::string>& arguments) {
        Program program(arguments, folder_.path());
        const int exit_code = program.wait(seconds(60));
        err_ = program.err();
        return exit_code;
    }

    int train_alone(const std::string& to) {
        return swarm({"train", "--single", file("run.toml"), "--dir", file(to)});
    }

    /// Three peers; the run is in the folder `to`/run.
    int train_together(const std::string& to) {
        return swarm({"local", file("run.toml"), "--peers", "3", "--dir", file(to)});
    }

    /// The evaluations of a run, without the times at which they were made.
    [[nodiscard]] std::vector<std::string> evaluations(const std::string& run) const {
        std::vector<std::string> found;
        std::istringstream lines(read_text(file(run + "/metrics.jsonl")));
        for (std::string line; std::getline(lines, line);) {
            json::object object = json::parse(line).as_object();
            if (object.contains("eval_loss")) {
                object.erase("unix_time_s");
                found.push_back(json::serialize(object));
            }
        }
        return found;
    }

    [[nodiscard]] bool has_checkpoint(const std::string& run, int step) const {
        const std::string name = "checkpoint-0-" + std::to_string(step);
        return fs::exists(file(run + "/" + name + "/manifest.json"));
    }

    [[nodiscard]] std::string file(const std::string& name) const {
        return (folder_.path() / name).string();
    }

    TemporaryFolder folder_;
    std::string err_;
};

TEST_F(EvaluationTest, PeersFindTheLossesOfOneProcess) {
    write_run(
        "steps = 7\n", "texts = [\"held.txt\", \"other.txt\"]\nevery_steps = 3\nbatches = 2\n"
    );
    ASSERT_EQ(train_alone("alone"), 0) << err_;
    EXPECT_NE(err_.find("step 3: held-out "), std::string::npos) << err_;
    ASSERT_EQ(train_together("together"), 0) << err_;
    const auto alone = evaluations("alone");
    ASSERT_EQ(alone.size(), 3U);  // after steps 3, 6 and 7
    EXPECT_EQ(evaluations("together/run"), alone);
    EXPECT_NE(alone[0].find("\"name\":\"other.txt\""), std::string::npos) << alone[0];
}

TEST_F(EvaluationTest, PatienceEndsTheRunWithItsLastCheckpoint) {
    write_run(
        "steps = 1000\n",
        "texts = [\"held.txt\"]\nevery_steps = 3\nbatches = 1\npatience = 2\n",
        "0.0"
    );
    for (const bool alone : {true, false}) {
        ASSERT_EQ(alone ? train_alone("alone") : train_together("together"), 0) << err_;
        EXPECT_NE(err_.find("the run ends after step 9: no better"), err_.npos) << err_;
        EXPECT_NE(err_.find("goes on with another value of it"), err_.npos) << err_;
        const std::string run = alone ? "alone" : "together/run";
        EXPECT_EQ(evaluations(run).size(), 3U);
        EXPECT_TRUE(has_checkpoint(run, 9)) << run;
        EXPECT_FALSE(has_checkpoint(run, 10)) << run;
    }
}

TEST_F(EvaluationTest, ARunThatPatienceHasEndedGoesOnWithAnotherPatienceAlone) {
    write_run(
        "steps = 1000\n",
        "texts = [\"held.txt\"]\nevery_steps = 3\nbatches = 1\npatience = 2\n",
        "0.0"
    );
    ASSERT_EQ(train_together("together"), 0) << err_;
    ASSERT_EQ(train_alone("alone"), 0) << err_;
    for (const std::string& run : {std::string("together/run"), std::string("alone")}) {
        std::vector<std::string> words{"train", "--resume", "--dir", file(run)};
        words.emplace_back(run == "alone" ? "--single" : "--listen=127.0.0.1:0");
        ASSERT_EQ(swarm(words), 0) << err_;
        EXPECT_NE(err_.find("eval.patience ended the run after step 9: no better"), err_.npos)
            << err_;
        EXPECT_NE(err_.find("weights after step 9: sha256"), err_.npos) << err_;
        EXPECT_EQ(evaluations(run).size(), 3U) << run;
        EXPECT_FALSE(has_checkpoint(run, 10)) << run;
    }
    const std::vector<std::string> resume{"train", "--single", "--resume", "--dir", file("alone")};
    std::vector<std::string> changed = resume;
    changed.insert(changed.end(), {"--set", "eval.patience=1"});
    ASSERT_EQ(swarm(changed), 0) << err_;
    EXPECT_NE(err_.find("it goes on, because eval.patience was 2 and is 1"), err_.npos) << err_;
    EXPECT_NE(err_.find("the run ends after step 12: no better"), err_.npos) << err_;
    ASSERT_EQ(swarm(resume), 0) << err_;
    EXPECT_NE(err_.find("eval.patience ended the run after step 12: "), err_.npos) << err_;
    EXPECT_EQ(evaluations("alone").size(), 4U);
}

TEST_F(EvaluationTest, AFolderOfChatsIsReadByPeersAsByOneProcess) {
    std::ofstream chats(file("chats.jsonl"));
    for (int i = 0; i < 40; ++i) {
        chats << R"({"messages":[{"role":"user","content":"And then?"},)"
              << R"({"role":"assistant","content":"Then came )" << i * i << "\"}]}\n";
    }
    chats.close();
    std::ofstream(file("chats.toml"))
        << "tokenizer = \"bytes\"\nchat_template = \"lines\"\n[[source]]\nname = \"c\"\n"
        << "paths = \"chats.jsonl\"\nrows = \"chat\"\n";
    ASSERT_EQ(swarm({"data", "build", file("chats.toml"), "-o", file("chats")}), 0) << err_;
    write_run(
        "steps = 4\n", "texts = [\"held.txt\", \"chats\"]\nevery_steps = 2\nbatches = 2\n"
    );
    ASSERT_EQ(train_alone("alone"), 0) << err_;
    ASSERT_EQ(train_together("together"), 0) << err_;
    const auto alone = evaluations("alone");
    ASSERT_EQ(alone.size(), 2U);
    EXPECT_EQ(evaluations("together/run"), alone);
    const json::value last = json::parse(alone[1]);
    const json::object& found = last.at("eval_texts").at(1).as_object();
    EXPECT_EQ(found.at("name").as_string(), "chats");
    EXPECT_GT(found.at("loss").as_double(), 0);
    EXPECT_GT(found.at("bits_per_byte").as_double(), 0);
}

TEST_F(EvaluationTest, TheBestCheckpointSurvivesPruning) {
    write_run(
        "steps = 6\ncheckpoint_keep = 1\n",
        "texts = [\"held.txt\"]\nevery_steps = 1\nbatches = 1\n",
        "0.0"
    );
    for (const bool alone : {true, false}) {
        ASSERT_EQ(alone ? train_alone("alone") : train_together("together"), 0) << err_;
        const std::string run = alone ? "alone" : "together/run";
        EXPECT_TRUE(has_checkpoint(run, 1)) << run << ": the first one is the best";
        EXPECT_FALSE(has_checkpoint(run, 2)) << run;
        EXPECT_FALSE(has_checkpoint(run, 4)) << run;
        EXPECT_TRUE(has_checkpoint(run, 6)) << run;
        EXPECT_EQ(read_text(file(run + "/best-checkpoint")).find("checkpoint-0-1 "), 0U) << run;
    }
}

TEST_F(EvaluationTest, WhatCannotBeReadIsOneLine) {
    std::ofstream(file("empty.txt")).close();
    std::ofstream(file("short.txt")) << "short";
    const std::pair<const char*, const char*> cases[] = {
        {"missing.txt", "no held-out text: "},
        {"empty.txt", "has 0 tokens; one window has 33"},
        {"short.txt", "has 5 tokens; one window has 33"},
    };
    for (const auto& [name, words] : cases) {
        write_run("steps = 1\n", std::string("texts = [\"") + name + "\"]\n");
        EXPECT_EQ(train_alone("refused"), 3) << name << err_;
        EXPECT_NE(err_.find(words), std::string::npos) << err_;
        EXPECT_NE(err_.find(name), std::string::npos) << err_;
        EXPECT_EQ(count_lines(err_), 1U) << err_;
    }
}

}  // namespace
}  // namespace swarm::test

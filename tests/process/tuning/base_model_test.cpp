// Runs that begin with the weights of a model: peers that die train them to the bits of one
// process, --resume needs the model no more, and the result is a model like others.
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace swarm::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr int kRefused = 3;

class BaseModelTest : public testing::Test {
 protected:
    /// Trains the base: a Llama of four layers with a tokenizer of its own.
    void SetUp() override {
        write_text("base.txt", "has left at step");
        write_text("other.txt", "at step has left");
        std::ofstream(file("base.toml"))
            << "[run]\nstages = 2\nsteps = 16\nmicrobatches = 4\nbatch = 4\ncorpus = \""
            << file("base.txt") << "\"\ntokenizer = \"spm:400\"\n"
            << "[model]\nlayers = 4\nwidth = 32\nheads = 2\nkv_heads = 1\nffn_width = 64\n"
            << "context = 32\ntied_embeddings = true\n[optimizer]\nlearning_rate = 0.01\n"
            << "warmup_steps = 0\n";
        ASSERT_EQ(
            run(
                {"train",
                 "--single",
                 file("base.toml"),
                 "--dir",
                 file("base"),
                 "--json",
                 file("base.json")}
            ),
            0
        ) << err;
        std::ofstream(file("tune.toml"))
            << "[run]\ninit = \"base\"\ncorpus = \"other.txt\"\nstages = 2\nmicrobatches = 4\n"
            << "[model]\ncontext = 32\n[optimizer]\nlearning_rate = 0.001\n"
            << "final_learning_rate = 0.001\nwarmup_steps = 0\n";
    }

    void write_text(const std::string& name, const std::string& words) const {
        std::ofstream text(file(name));
        for (int i = 0; i < 3000; ++i) {
            text << "peer " << i << " of " << i * i << " " << words << " " << i * 17 << "\n";
        }
    }

    int run(const std::vector<std::string>& arguments) {
        Program program(arguments, folder.path());
        const int exit_code = program.wait(seconds(120));
        out = program.out();
        err = program.err();
        return exit_code;
    }

    /// `more` follows the words of every run that begins with the base.
    std::vector<std::string> tuning(const std::string& verb, std::vector<std::string> more) const {
        more.insert(more.begin(), {verb, file("tune.toml")});
        return more;
    }

    /// The base with the adapters of a run answers like the run.
    void expect_same_answer(const std::string& tuned, const std::string& adapter) {
        const std::vector<std::string> asked{"--tokens", "12", "peer 3"};
        const auto answer = [&](std::vector<std::string> words) {
            words.insert(words.begin(), "generate");
            words.insert(words.end(), asked.begin(), asked.end());
            EXPECT_EQ(run(words), 0) << err;
            return out;
        };
        const std::string wanted = answer({"--model", tuned});
        EXPECT_EQ(answer({"--model", file("base"), "--adapter", adapter}), wanted);
        EXPECT_EQ(run({"generate", "--model", tuned, "--adapter", adapter, "peer"}), kRefused);
        EXPECT_NE(err.find("has adapters of its own"), std::string::npos) << err;
    }

    [[nodiscard]] double loss(const std::string& json, std::size_t step) const {
        const auto report = boost::json::parse(read_text(file(json))).as_object();
        return report.at("losses").as_array().at(step).to_number<double>();
    }

    [[nodiscard]] std::string file(const std::string& name) const {
        return (folder.path() / name).string();
    }

    TemporaryFolder folder;
    std::string out;
    std::string err;
};

TEST_F(BaseModelTest, PeersThatDieTrainItToTheBitsOfOneProcess) {
    ASSERT_EQ(
        run(tuning(
            "local",
            {"--peers",
             "4",
             "--steps",
             "18",
             "--kill-every",
             "2s",
             "--service-ms",
             "20",
             "--verify",
             "--dir",
             file("local"),
             "--json",
             file("tuned.json")}
        )),
        0
    ) << err;
    const auto report = boost::json::parse(read_text(file("tuned.json"))).as_object();
    EXPECT_TRUE(report.at("verify").at("equal").as_bool());
    EXPECT_LT(loss("tuned.json", 0), loss("base.json", 0) - 0.5) << "random weights know nothing";
    EXPECT_EQ(
        read_text(file("local/run/tokenizer.model")), read_text(file("base/tokenizer.model"))
    );
    const std::string run_file = read_text(file("local/run/run.toml"));
    EXPECT_NE(run_file.find("init_sha256 = '"), std::string::npos) << run_file;
    EXPECT_NE(run_file.find("layers = 4"), std::string::npos) << run_file;
}

TEST_F(BaseModelTest, PeersThatDieTrainAPartOfItToTheBitsOfOneProcess) {
    const std::string tune = read_text(file("tune.toml"));
    const std::string parts[] = {
        "[train]\nfreeze = [\"embed\", \"head\", \"layers.0-1\"]\n",
        "[lora]\nrank = 4\non = [\"attn.wq\", \"mlp.w2\"]\n"};
    for (const std::string& part : parts) {
        std::ofstream(file("part.toml")) << tune << part;
        const std::string name = part.substr(1, 4);
        ASSERT_EQ(
            run(
                {"local",
                 file("part.toml"),
                 "--peers",
                 "4",
                 "--steps",
                 "14",
                 "--kill-every",
                 "2s",
                 "--service-ms",
                 "20",
                 "--verify",
                 "--dir",
                 file(name),
                 "--json",
                 file("part.json")}
            ),
            0
        ) << part
          << err;
        const auto report = boost::json::parse(read_text(file("part.json"))).as_object();
        EXPECT_TRUE(report.at("verify").at("equal").as_bool()) << part;
        const std::string newest = file(name + "/run/checkpoint-0-14/embed.safetensors");
        EXPECT_EQ(read_text(newest), read_text(file("base/checkpoint-0-16/embed.safetensors")));
        ASSERT_EQ(run({"generate", "--model", file(name + "/run"), "--tokens", "4", "peer"}), 0)
            << err;
        const bool adapts = name == "lora";
        EXPECT_EQ(
            run({"model", "export", file(name + "/run"), file(name + "-peft"), "--adapter"}),
            adapts ? 0 : kRefused
        ) << err;
        EXPECT_EQ(fs::exists(file(name + "-peft/adapter_model.safetensors")), adapts);
        if (adapts) {
            expect_same_answer(file(name + "/run"), file(name + "-peft"));
        }
    }
}

TEST_F(BaseModelTest, AResumedRunNeedsTheModelNoMore) {
    ASSERT_EQ(
        run(tuning(
            "train", {"--init", file("base"), "--single", "--steps", "6", "--dir", file("whole")}
        )),
        0
    ) << err;
    EXPECT_NE(err.find("begins with the weights of"), std::string::npos) << err;
    ASSERT_EQ(run(tuning("train", {"--single", "--steps", "3", "--dir", file("tuned")})), 0) << err;
    EXPECT_TRUE(fs::exists(file("tuned/checkpoint-0-0/manifest.json")));
    fs::rename(file("base"), file("elsewhere"));
    const std::vector<std::string> resume{
        "train", "--single", "--resume", "--dir", file("tuned"), "--steps", "6"};
    ASSERT_EQ(run(resume), 0) << err;
    const auto weights = [&](const char* run) {
        return read_text(file(std::string(run) + "/checkpoint-0-6/layers.3.safetensors"));
    };
    EXPECT_EQ(weights("tuned"), weights("whole"));
    ASSERT_EQ(run({"model", "export", file("tuned"), file("exported")}), 0) << err;
    ASSERT_EQ(run({"generate", "--model", file("exported"), "--tokens", "4", "peer 3"}), 0) << err;
    const std::string text = out;
    ASSERT_EQ(run({"generate", "--model", file("tuned"), "--tokens", "4", "peer 3"}), 0) << err;
    EXPECT_EQ(out, text);
}

TEST_F(BaseModelTest, WhatDoesNotFitIsOneLine) {
    const auto refused = [&](const std::vector<std::string>& words, const std::string& why) {
        EXPECT_EQ(run(words), kRefused) << why;
        EXPECT_EQ(count_lines(err), 1U) << err;
        EXPECT_NE(err.find(why), std::string::npos) << err;
        EXPECT_FALSE(fs::exists(file("refused"))) << "it left a folder";
    };
    const auto train = [&](std::vector<std::string> more) {
        more.insert(more.end(), {"--single", "--dir", file("refused")});
        return more;
    };
    refused(train({"train", "--init", "/nowhere/model"}), "no file or folder");
    refused(train({"train", "--init", file("base"), "--model", "demo"}), "name two models");
    refused(train(tuning("train", {"--stages", "5"})), "run.stages is 5");
    refused(
        train(tuning("train", {"--tokenizer", "spm:500"})),
        "its model.vocabulary is 400, the run file says 500"
    );
    std::ofstream(file("bad.toml")) << "[run]\ninit = \"base\"\n[model]\nlayers = 7\n";
    refused(train({"train", file("bad.toml")}), "its model.layers is 4, the run file says 7");
    std::ofstream(file("long.toml")) << "[run]\ninit = \"base\"\n[model]\ncontext = 500\n";
    refused(train({"train", file("long.toml")}), "knows at most 32 positions");
    EXPECT_EQ(run(tuning("plan", {})), 0) << err;
}

}  // namespace
}  // namespace swarm::test

// Runs on a folder of `swarm data build`: whoever is killed, two epochs have each sample twice.
#include "swarm/base/rng.hpp"
#include "swarm/data/shard.hpp"
#include "tests/process/local_run.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

namespace swarm::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kKills = 20;
constexpr std::uint64_t kSteps = 18;  // each has 16 rows: two epochs of 144 samples

class DataSetTest : public testing::Test {
 protected:
    /// Builds two sources with 144 samples of 32 tokens in all, and writes the run file.
    void SetUp() override {
        for (const char* const name : {"a", "b"}) {
            std::ofstream lines(file(std::string(name) + ".jsonl"));
            for (int i = 0; i < 18; ++i) {  // 18 x 128 tokens, each with its end token
                std::string text = name + std::to_string(i * i * i) + " ";
                text.resize(127, static_cast<char>('a' + i));
                lines << R"({"text":")" << text << "\"}\n";
            }
            lines << R"({"text":"more"})"
                  << "\n";
        }
        std::ofstream(file("data.toml"))
            << "tokenizer = \"bytes\"\n[[source]]\nname = \"a\"\npaths = \"a.jsonl\"\n"
            << "[[source]]\nname = \"b\"\npaths = \"b.jsonl\"\n";
        ASSERT_EQ(run({"data", "build", file("data.toml"), "-o", file("built")}), 0) << err;
        std::ofstream(file("run.toml"))
            << "[run]\ncorpus = \"built\"\nstages = 2\nsteps = " << kSteps
            << "\nmicrobatches = 4\nbatch = 4\ncheckpoint_every = 1\ncheckpoint_keep = 0\n"
            << "[model]\nlayers = 4\nwidth = 32\nheads = 2\nkv_heads = 1\nffn_width = 64\n"
            << "context = 32\n[optimizer]\nwarmup_steps = 0\n";
    }

    int run(const std::vector<std::string>& arguments) {
        Program program(arguments, folder.path());
        const int exit_code = program.wait(seconds(120));
        out = program.out();
        err = program.err();
        return exit_code;
    }

    [[nodiscard]] std::string file(const std::string& name) const {
        return (folder.path() / name).string();
    }

    [[nodiscard]] std::string weights(const std::string& run) const {
        return read_text(
            file(run + "/checkpoint-0-" + std::to_string(kSteps) + "/layers.3.safetensors")
        );
    }

    TemporaryFolder folder;
    std::string out;
    std::string err;
};

TEST_F(DataSetTest, KilledPeersCostNoSample) {
    const LocalRun local = run_local(
        {file("run.toml"), "--peers", "4", "--kill-every", "2s", "--service-ms", "20", "--verify"},
        seconds(120)
    );
    expect_exact(local);
    EXPECT_EQ(local.report.at("steps").as_array().size(), kSteps);
}

TEST_F(DataSetTest, ARunThatIsKilledReadsOnWhereItWas) {
    ASSERT_EQ(run({"train", "--single", file("run.toml"), "--dir", file("whole")}), 0) << err;
    EXPECT_NE(
        err.find("data: 2 sources, 144 samples of 32 tokens; all of them are 9.0 steps"),
        std::string::npos
    ) << err;
    Rng rng(3, 0);
    const auto words = [&] {
        const bool begun = fs::exists(file("killed/run.toml"));
        return begun ? std::vector<std::string>{"train", "--single", "--resume", "--dir"}
                     : std::vector<std::string>{"train", "--single", file("run.toml"), "--dir"};
    };
    int killed = 0;
    for (int kill = 0; kill < kKills; ++kill) {
        auto arguments = words();
        arguments.push_back(file("killed"));
        Program program(arguments, folder.path());
        program.wait_for_text("no such text", milliseconds(100 + rng.below(500)));
        program.signal(SIGKILL);
        killed += program.wait(seconds(10)) == 128 + SIGKILL ? 1 : 0;
    }
    EXPECT_GT(killed, 3);
    auto arguments = words();
    arguments.push_back(file("killed"));
    ASSERT_EQ(run(arguments), 0) << err;
    EXPECT_EQ(weights("killed"), weights("whole"));
    EXPECT_FALSE(weights("whole").empty());
}

TEST_F(DataSetTest, AShardThatChangesEndsTheRun) {
    std::ofstream text(file("numbers.txt"));
    for (int i = 0; i < 3000; ++i) {
        text << "number " << i * i << "\n";
    }
    text.close();
    std::ofstream(file("numbers.toml"))
        << "tokenizer = \"spm:300\"\n[[source]]\nname = \"n\"\npaths = \"numbers.txt\"\n";
    const std::string port = std::to_string(free_port());
    for (const bool alone : {true, false}) {
        const std::string built = alone ? "alone" : "together";
        ASSERT_EQ(run({"data", "build", file("numbers.toml"), "-o", file(built)}), 0) << err;
        std::vector<std::string> words{"train", file("run.toml"), "--corpus", file(built)};
        words.insert(words.end(), {"--tokenizer", "spm:300", "--steps", "100000", "--stages"});
        words.insert(words.end(), {"1", "--dir", file(built + "-run")});
        words.insert(
            words.end(), {alone ? "--single" : "--listen=127.0.0.1:" + port, "--min-peers=1"}
        );
        Program train(words, folder.path());
        std::optional<Program> peer;
        if (!alone) {
            peer.emplace(
                std::vector<std::string>{
                    "serve", "--join", "127.0.0.1:" + port, "--listen", "127.0.0.1:0"},
                folder.path(),
                "swarm"
            );
        }
        ASSERT_TRUE(train.wait_for_text("step 1/", milliseconds(30'000))) << train.err();
        const fs::path shard = file(built + "/" + data::shard_name("n", 0));
        std::fstream damage(shard, std::ios::in | std::ios::out | std::ios::binary);
        damage.seekp(static_cast<std::streamoff>(fs::file_size(shard) / 2));
        damage << std::string(fs::file_size(shard) / 2, '\xff') << std::flush;
        EXPECT_EQ(train.wait(seconds(60)), 1) << train.err();
        EXPECT_NE(train.err().find("is damaged; build again"), std::string::npos) << train.err();
        EXPECT_NE(train.err().find("--resume"), std::string::npos) << train.err();
    }
}

TEST_F(DataSetTest, OtherDataIsRefused) {
    ASSERT_EQ(run({"train", "--single", file("run.toml"), "--steps", "2", "--dir", file("run")}), 0)
        << err;
    fs::remove_all(file("built"));
    std::ofstream(file("a.jsonl"), std::ios::app) << R"({"text":"one more"})"
                                                  << "\n";
    ASSERT_EQ(run({"data", "build", file("data.toml"), "-o", file("built")}), 0) << err;
    EXPECT_EQ(run({"train", "--single", "--resume", "--dir", file("run"), "--steps", "4"}), 3);
    EXPECT_EQ(count_lines(err), 1U) << err;
}

}  // namespace
}  // namespace swarm::test

// Runs with tokens of SentencePiece: peers and one process train them to the same bits, and they
// are continued, exported, served and stacked like other models. Another tokenizer is refused.
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace swarm::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr int kRefused = 3;

class TokenizerTest : public testing::Test {
 protected:
    void SetUp() override {
        std::ofstream text(file("corpus.txt"));
        for (int i = 0; i < 3000; ++i) {
            text << "peer " << i << " of " << i * i << " has left at step " << i * 17 << "\n";
        }
    }

    /// Trains a small Llama; `seed` is the seed of its weights.
    [[nodiscard]] std::string run_file(const std::string& tokenizer, int seed = 1) const {
        std::string path = file("run-" + std::to_string(seed) + ".toml");
        std::ofstream(path) << "[run]\nstages = 2\nsteps = 6\nseed = " << seed
                            << "\nmicrobatches = 4\nbatch = 4\ncheckpoint_every = 3\ncorpus = \""
                            << file("corpus.txt") << "\"\ntokenizer = \"" << tokenizer
                            << "\"\n[model]\nlayers = 2\nwidth = 32\nheads = 2\nkv_heads = 2\n"
                            << "ffn_width = 64\ncontext = 32\n";
        return path;
    }

    int run(const std::vector<std::string>& arguments) {
        Program program(arguments, folder.path());
        const int exit_code = program.wait(seconds(90));
        out = program.out();
        err = program.err();
        return exit_code;
    }

    void train_single(const std::string& name, const std::string& tokenizer, int seed = 1) {
        const std::string path = run_file(tokenizer, seed);
        ASSERT_EQ(run({"train", "--single", path, "--dir", file(name)}), 0) << err;
    }

    [[nodiscard]] std::string file(const std::string& name) const {
        return (folder.path() / name).string();
    }

    TemporaryFolder folder;
    std::string out;
    std::string err;
};

TEST_F(TokenizerTest, PeersEqualOneProcessAndContinueThePrompt) {
    ASSERT_EQ(
        run(
            {"local",
             run_file("bytes"),
             "--tokenizer",
             "spm:400",
             "--peers",
             "3",
             "--verify",
             "--prompt",
             "peer 12 of",
             "--tokens",
             "5",
             "--dir",
             file("local"),
             "--json",
             file("report.json")}
        ),
        0
    ) << err;
    const auto report = boost::json::parse(read_text(file("report.json"))).as_object();
    EXPECT_TRUE(report.at("verify").at("equal").as_bool());
    EXPECT_NE(out.find("peer 12 of"), std::string::npos) << out;
    const std::string tokenizer = read_text(file("local/run/tokenizer.model"));
    EXPECT_FALSE(tokenizer.empty());
    EXPECT_EQ(read_text(file("local/single/tokenizer.model")), tokenizer);
    EXPECT_EQ(read_text(file("local/run/checkpoint-0-6/tokenizer.model")), tokenizer);
    EXPECT_NE(read_text(file("local/run/run.toml")).find("vocabulary = 400"), std::string::npos);
}

TEST_F(TokenizerTest, ARunFindsItsTextFromTheFolderOfItsRunFileAndKnowsItByItsDigest) {
    const std::string path = run_file("bytes");
    std::string text = read_text(path);
    text.replace(text.find(file("corpus.txt")), file("corpus.txt").size(), "corpus.txt");
    std::ofstream(path) << text;
    ASSERT_EQ(run({"train", "--single", path, "--dir", file("run")}), 0) << err;
    const std::string written = read_text(file("run/run.toml"));
    EXPECT_NE(written.find("corpus = '../corpus.txt'"), std::string::npos) << written;

    const std::vector<std::string> resume{"train", "--single", "--resume", "--dir", file("run")};
    const auto resumed_with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), resume.begin(), resume.end());
        return run(more);
    };
    EXPECT_EQ(resumed_with({}), 0) << err;
    fs::copy(file("corpus.txt"), file("copy.txt"));
    EXPECT_EQ(resumed_with({"--corpus", file("copy.txt")}), 0) << err;
    EXPECT_NE(err.find("run.corpus: was \"../corpus.txt\", now \""), std::string::npos) << err;
    std::ofstream(file("copy.txt"), std::ios::app) << "more\n";
    EXPECT_EQ(resumed_with({}), kRefused) << err;
    EXPECT_NE(err.find("copy.txt with SHA-256 "), std::string::npos) << err;
    EXPECT_EQ(resumed_with({"--corpus", file("corpus.txt")}), 0) << err;
}

TEST_F(TokenizerTest, ARunAnswersOnlyInItsOwnTokens) {
    train_single("other", "spm:401");
    const std::string address = "127.0.0.1:" + std::to_string(free_port());
    Program coordinator(
        {"train", run_file("spm:400"), "--dir", file("run"), "--listen", address}, folder.path()
    );
    ASSERT_TRUE(coordinator.wait_for_text("waiting for ", seconds(60))) << coordinator.err();
    const std::string other = file("other/tokenizer.model");
    EXPECT_EQ(run({"generate", "--join", address, "--tokenizer", other, "peer 1"}), kRefused);
    EXPECT_NE(err.find("is not the run's"), std::string::npos) << err;
}

/// Returns three ASCII letters in a row that do not stand at the begin of the text; empty: there
/// are none. Other bytes of a text may be a part of a character, which no command line can name.
std::string stop_within(const std::string& text) {
    for (std::size_t at = 1; at + 3 <= text.size(); ++at) {
        const std::string stop = text.substr(at, 3);
        const bool ascii =
            std::ranges::all_of(stop, [](char letter) { return letter >= ' ' && letter <= '~'; });
        if (ascii && text.find(stop) >= 1) {
            return stop;
        }
    }
    return "";
}

/// The tokens of this run are bytes, so a stop text is always spread over several.
TEST_F(TokenizerTest, AStopTextOfSeveralTokensEndsTheText) {
    train_single("run", "bytes");
    const std::string prompt = "peer 1";
    const auto words = [&](const std::string& verb, const std::vector<std::string>& more) {
        std::vector<std::string> all{
            verb, "--model", file("run"), "--tokens", "24", "--temperature", "0.9"};
        all.insert(all.end(), {"--top-k", "20", "--top-p", "0.95", "--prompt", prompt});
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    ASSERT_EQ(run(words("generate", {})), 0) << err;
    const std::string all = out.substr(prompt.size(), out.size() - prompt.size() - 1);
    const std::string stop = stop_within(all);
    ASSERT_NE(stop, "") << out;
    const std::string before = prompt + all.substr(0, all.find(stop)) + "\n";
    EXPECT_EQ(run(words("generate", {"--stop", stop})), 0) << err;
    EXPECT_EQ(out, before);
    const std::vector<std::string> served{"--stages", "2", "--peers", "2", "--verify"};
    std::vector<std::string> locally = words("local", served);
    locally.insert(locally.end(), {"--stop", stop});
    EXPECT_EQ(run(locally), 0) << err;
    EXPECT_EQ(out, before);
    EXPECT_EQ(run(words("generate", {"--system", "be brief"})), kRefused);
    EXPECT_NE(err.find("no chat template, so it knows no system message"), std::string::npos)
        << err;
}

/// The asker is in another folder and has no file of the run.
TEST_F(TokenizerTest, TheCoordinatorGivesTheTokenizerOfItsRun) {
    const std::string address = "127.0.0.1:" + std::to_string(free_port());
    Program coordinator(
        {"train", run_file("spm:400"), "--hold", "--dir", file("run"), "--listen", address},
        folder.path()
    );
    ASSERT_TRUE(coordinator.wait_for_text("waiting for ", seconds(60))) << coordinator.err();
    Program first({"serve", "--join", address}, folder.path());
    Program second({"serve", "--join", address}, folder.path());
    ASSERT_TRUE(coordinator.wait_for_text("step 6/6", seconds(60))) << coordinator.err();
    const TemporaryFolder elsewhere;
    const auto ask = [&](std::vector<std::string> more) {
        std::vector<std::string> words{"generate", "--join", address, "--tokens", "12", "peer 1"};
        words.insert(words.end(), more.begin(), more.end());
        Program program(words, elsewhere.path());
        EXPECT_EQ(program.wait(seconds(60)), 0) << program.err();
        return program.out();
    };
    const std::string text = ask({});
    EXPECT_TRUE(text.starts_with("peer 1")) << text;
    EXPECT_GT(text.size(), std::string("peer 1\n").size());
    EXPECT_EQ(ask({"--tokenizer", file("run/tokenizer.model")}), text);
    const std::string answer = text.substr(std::string("peer 1").size());
    const std::string stop = stop_within(answer);
    ASSERT_NE(stop, "") << text;
    EXPECT_EQ(ask({"--stop", stop}), "peer 1" + answer.substr(0, answer.find(stop)) + "\n");
}

TEST_F(TokenizerTest, AResumedRunKeepsItsTokenizer) {
    train_single("run", "spm:400");
    const std::vector<std::string> resume{"train", "--single", "--resume", "--dir", file("run")};
    std::vector<std::string> more = resume;
    more.insert(more.end(), {"--steps", "9"});
    std::ofstream(file("corpus.txt"), std::ios::app) << "a text that gives another tokenizer\n";
    const std::string before = read_text(file("run/run.toml"));
    EXPECT_NE(before.find("corpus_sha256 = '"), std::string::npos) << before;
    EXPECT_EQ(run(more), kRefused);
    EXPECT_EQ(count_lines(err), 1U) << err;
    EXPECT_NE(err.find("corpus.txt with SHA-256 "), std::string::npos) << err;
    EXPECT_EQ(read_text(file("run/run.toml")), before) << "it wrote before the answer";
    more.emplace_back("--accept-changes");
    EXPECT_EQ(run(more), 0) << err;
    EXPECT_EQ(err.find("step 3/"), std::string::npos) << "it began anew";
    EXPECT_NE(read_text(file("run/run.toml")), before) << "the new text is that of the run";
    for (const char* const other : {"spm:401", "bytes"}) {
        std::vector<std::string> changed = resume;
        changed.insert(changed.end(), {"--tokenizer", other});
        EXPECT_EQ(run(changed), kRefused);
        EXPECT_NE(err.find("was begun with the tokenizer spm:400"), std::string::npos) << err;
    }
    std::ofstream(file("run/tokenizer.model"), std::ios::app) << "x";
    EXPECT_EQ(run(resume), kRefused);
    EXPECT_NE(err.find("is not the tokenizer of this run"), std::string::npos) << err;
    fs::remove(file("run/tokenizer.model"));
    EXPECT_EQ(run(resume), kRefused);
    EXPECT_NE(err.find("each of its checkpoints has a copy"), std::string::npos) << err;
}

TEST_F(TokenizerTest, ATrainedRunIsAModelLikeOthers) {
    train_single("run", "spm:400");
    ASSERT_EQ(run({"model", "show", file("run")}), 0) << err;
    EXPECT_NE(out.find("SentencePiece, 400 tokens"), std::string::npos) << out;
    const auto generate = [&](const std::string& model) {
        EXPECT_EQ(
            run(
                {"generate",
                 "--model",
                 model,
                 "--tokens",
                 "6",
                 "--json",
                 file("answer.json"),
                 "peer 3 of caf\xC3\xA9"}
            ),
            0
        ) << err;
        return boost::json::parse(read_text(file("answer.json"))).as_object();
    };
    const auto answer = generate(file("run"));
    EXPECT_EQ(answer.at("ids").as_array().size(), 6U);
    ASSERT_EQ(run({"model", "export", file("run"), file("exported")}), 0) << err;
    EXPECT_EQ(read_text(file("exported/tokenizer.model")), read_text(file("run/tokenizer.model")));
    EXPECT_EQ(generate(file("exported")).at("ids"), answer.at("ids"));

    const std::string served = file("run/checkpoint-0-6");
    ASSERT_EQ(
        run(
            {"local",
             "--model",
             served,
             "--stages",
             "2",
             "--peers",
             "2",
             "--prompt",
             "peer 3",
             "--tokens",
             "6",
             "--verify"}
        ),
        0
    ) << err;
    std::ofstream(served + "/tokenizer.model", std::ios::trunc) << "garbage";
    EXPECT_EQ(run({"generate", "--model", served, "peer 3"}), kRefused);
    EXPECT_NE(err.find("damaged"), std::string::npos) << err;
}

TEST_F(TokenizerTest, MembersOfAStackShareATokenizer) {
    train_single("first", "spm:400", 1);
    train_single("second", "spm:400", 2);
    train_single("other", "spm:401", 3);
    train_single("bytes", "bytes", 4);
    ASSERT_EQ(
        run(
            {"stack",
             "new",
             file("good.toml"),
             "--mode",
             "ensemble",
             "--member",
             "first",
             "--member",
             "second"}
        ),
        0
    ) << err;
    ASSERT_EQ(run({"generate", "--stack", file("good.toml"), "--tokens", "4", "peer 1"}), 0) << err;
    for (const char* const stranger : {"other", "bytes"}) {
        const std::string bad = file("bad.toml");
        EXPECT_EQ(
            run(
                {"stack",
                 "new",
                 bad,
                 "--mode",
                 "ensemble",
                 "--member",
                 "first",
                 "--member",
                 stranger}
            ),
            kRefused
        );
        EXPECT_NE(err.find("has another tokenizer"), std::string::npos) << err;
        EXPECT_EQ(count_lines(err), 1U) << err;
    }
}

TEST_F(TokenizerTest, AnImpossibleTokenizerIsOneLine) {
    for (const char* const name : {"spm:0", "spm:1000000000", "spm:many", "bpe"}) {
        EXPECT_EQ(run({"plan", "--tokenizer", name}), kRefused) << name;
        EXPECT_EQ(count_lines(err), 1U) << err;
    }
    EXPECT_EQ(run({"plan", "--tokenizer", "spm:2000"}), 0) << err;
    EXPECT_EQ(run({"train", "--single", run_file("spm:60000"), "--dir", file("run")}), kRefused);
    EXPECT_EQ(count_lines(err), 1U) << err;
    EXPECT_NE(err.find("Vocabulary size too high"), std::string::npos) << err;
    EXPECT_FALSE(fs::exists(file("run/run.toml")));
    std::ofstream(file("garbage")) << "garbage";
    EXPECT_EQ(
        run({"generate", "--join", "127.0.0.1:1", "--tokenizer", file("garbage"), "a"}), kRefused
    );
    EXPECT_EQ(count_lines(err), 1U) << err;
}

}  // namespace
}  // namespace swarm::test

// Runs `swarm chat` by a pipe, each line of which is a turn, and in a terminal, where Ctrl-C stops
// an answer. The model must be in the cache.
#include "tests/golden/model_file.hpp"
#include "tests/places.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <poll.h>
#include <pty.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace swarm::test {
namespace {

using std::chrono::seconds;

/// A program in a terminal of its own, and who types there.
class Terminal {
 public:
    explicit Terminal(const std::vector<std::string>& arguments) {
        const std::string program = program_dir() + "/swarm";
        std::vector<char*> words{const_cast<char*>(program.c_str())};
        for (const std::string& argument : arguments) {
            words.push_back(const_cast<char*>(argument.c_str()));
        }
        words.push_back(nullptr);
        pid_ = ::forkpty(&screen_, nullptr, nullptr, nullptr);
        if (pid_ == 0) {
            ::execv(words.front(), words.data());
            ::_exit(127);
        }
    }

    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    ~Terminal() {
        if (!ended_) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
        ::close(screen_);
    }

    void type(const std::string& text) {
        ASSERT_EQ(::write(screen_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }

    /// Returns what came on the screen up to and with `text`; everything that came if the program
    /// ended or the deadline passed before.
    std::string until(const std::string& text) {
        const auto end = std::chrono::steady_clock::now() + kPatience;
        while (text.empty() || shown_.find(text) == std::string::npos) {
            pollfd wait{screen_, POLLIN, 0};
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                end - std::chrono::steady_clock::now()
            );
            if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) <= 0) {
                break;
            }
            char more[4096];
            const ssize_t got = ::read(screen_, more, sizeof more);
            if (got <= 0) {
                break;  // the program has ended
            }
            shown_.append(more, static_cast<std::size_t>(got));
        }
        const std::size_t at = text.empty() ? std::string::npos : shown_.find(text);
        const std::size_t bytes = at == std::string::npos ? shown_.size() : at + text.size();
        std::string before = shown_.substr(0, bytes);
        shown_.erase(0, bytes);
        return before;
    }

    /// Waits for the end. Returns the exit code, or 128 + signal.
    int wait() {
        until("");
        int status = 0;
        ::waitpid(pid_, &status, 0);
        ended_ = true;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

 private:
    static constexpr seconds kPatience{60};

    int screen_ = -1;
    pid_t pid_ = -1;
    std::string shown_;
    bool ended_ = false;
};

constexpr const char* kCtrlC = "\x03";
constexpr const char* kCtrlD = "\x04";

class ChatTest : public testing::Test {
 protected:
    void SetUp() override {
        ASSERT_TRUE(std::filesystem::exists(golden::smollm2_file())) << golden::kFetchIt;
    }

    /// Pipes the input into a chat. Returns what it printed.
    std::string chat(const std::string& input, const std::string& flags = "") {
        std::ofstream(folder.path() / "input") << input;
        const std::string at = folder.path().string();
        const std::string line = "cd '" + at + "' && '" + program_dir() +
                                 "/swarm' chat --model smollm2 " + flags +
                                 " <input >output 2>errors";
        exit_code = std::system(line.c_str());
        return read_text(folder.path() / "output");
    }

    TemporaryFolder folder;
    int exit_code = -1;
};

TEST_F(ChatTest, EachLineOfAPipeIsATurnOfOneConversation) {
    const std::string out = chat(
        "What is the capital of France?\n\n/save talk.json\nAnd what is its country?\n/undo\n"
        "/save undone.json\n",
        "--tokens 16"
    );
    EXPECT_EQ(exit_code, 0) << read_text(folder.path() / "errors");
    EXPECT_TRUE(out.starts_with("The capital of France is Paris.\n")) << out;
    EXPECT_EQ(count_lines(out), 2U) << out;
    const std::string first =
        R"({"messages":[{"role":"user","content":"What is the capital of France?"},)"
        R"({"role":"assistant","content":"The capital of France is Paris."}]})"
        "\n";
    EXPECT_EQ(read_text(folder.path() / "talk.json"), first);
    EXPECT_EQ(read_text(folder.path() / "undone.json"), first);
}

TEST_F(ChatTest, AQuestionThatFailsEndsAPipe) {
    chat(std::string(60'000, 'a') + " b c\nHello\n");
    EXPECT_EQ(WEXITSTATUS(exit_code), 3) << read_text(folder.path() / "errors");
}

TEST_F(ChatTest, CtrlCStopsAnAnswerAndNotTheProgram) {
    const std::string file = (folder.path() / "talk.json").string();
    Terminal terminal({"chat", "--model", "smollm2", "--tokens", "2000"});
    terminal.until("> ");
    terminal.type("Count from one to a thousand in words.\n");
    terminal.until("\r\n");  // the echo
    terminal.until(" ");     // the answer has begun
    terminal.type(kCtrlC);
    terminal.until("\n> ");
    terminal.type("/save " + file + "\n");
    EXPECT_NE(terminal.until("\n> ").find("saved to "), std::string::npos);
    const std::string kept = read_text(file);
    EXPECT_NE(kept.find("\"assistant\""), std::string::npos) << kept;
    EXPECT_LT(kept.size(), 2'000U) << "the answer was not stopped";
    terminal.type("/undo\n");
    terminal.until("\n> ");
    terminal.type("What is the capital of France?\n");
    EXPECT_NE(terminal.until("\n> ").find("The capital of France is Paris."), std::string::npos);
    terminal.type(kCtrlC);
    EXPECT_NE(terminal.until("\n> ").find("Ctrl-D or /end ends."), std::string::npos);
    terminal.type(kCtrlD);
    EXPECT_EQ(terminal.wait(), 0);
}

TEST_F(ChatTest, PeersAnswerAConversation) {
    const std::string address = "127.0.0.1:" + std::to_string(free_port());
    std::filesystem::create_directory(folder.path() / "directory");
    std::filesystem::create_directory(folder.path() / "peer");
    Program directory({"directory", "--listen", address}, folder.path() / "directory");
    ASSERT_TRUE(directory.wait_for_text("directory at " + address, seconds(20)));
    Program peer(
        {"serve", "--model", "smollm2", "--stages", "1", "--join", address, "--listen",
         "127.0.0.1:0"},
        folder.path() / "peer"
    );
    const std::string questions = "What is the capital of France?\nAnd what is its country?\n";
    const std::string alone = chat(questions, "--tokens 24 --weights as-is");
    EXPECT_EQ(exit_code, 0) << read_text(folder.path() / "errors");
    const std::string by_peers = chat(questions, "--tokens 24 --join " + address);
    EXPECT_EQ(exit_code, 0) << read_text(folder.path() / "errors");
    EXPECT_EQ(by_peers, alone);
    EXPECT_EQ(count_lines(by_peers), 2U) << by_peers;
}

}  // namespace
}  // namespace swarm::test

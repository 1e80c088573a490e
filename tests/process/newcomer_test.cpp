// A machine without a model's file serves a third of it: it takes its layers from three peers, and
// the text of a client goes on by it when one of them is killed. The model must be in the cache.
#include "tests/golden/model_file.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <sys/stat.h>

namespace swarm::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr seconds kPatience{90};

/// The variable has another value while the object lives; programs that start then inherit it.
class Environment {
 public:
    Environment(const char* name, const std::string& value) : name_(name) {
        const char* const before = std::getenv(name);
        had_ = before != nullptr;
        before_ = had_ ? before : "";
        ::setenv(name, value.c_str(), 1);
    }

    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

    ~Environment() {
        if (had_) {
            ::setenv(name_, before_.c_str(), 1);
        } else {
            ::unsetenv(name_);
        }
    }

 private:
    const char* name_;
    std::string before_;
    bool had_ = false;
};

class ServedByNewcomers : public testing::Test {
 protected:
    void SetUp() override {
        ASSERT_TRUE(fs::exists(golden::smollm2_file())) << golden::kFetchIt;
        address_ = "127.0.0.1:" + std::to_string(free_port());
        directory_ = start({"directory", "--listen", address_});
        ASSERT_TRUE(directory_->wait_for_text("directory at " + address_, seconds(10)));
    }

    std::unique_ptr<Program> start(const std::vector<std::string>& arguments) {
        fs::create_directories(folder_.path() / std::to_string(++started_));
        return std::make_unique<Program>(arguments, folder_.path() / std::to_string(started_));
    }

    std::unique_ptr<Program> serve(std::vector<std::string> more) {
        more.insert(
            more.begin(),
            {"serve", "--model", "smollm2", "--join", address_, "--listen", "127.0.0.1:0"}
        );
        return start(more);
    }

    /// A program whose cache is empty at first.
    std::unique_ptr<Program> newcomer(std::vector<std::string> more) {
        const Environment empty("SWARM_DEPS", cache().string());
        return serve(std::move(more));
    }

    std::unique_ptr<Program> ask(const std::string& tokens) {
        return start(
            {"generate",
             "--model",
             "smollm2",
             "--join",
             address_,
             "--max-tokens",
             tokens,
             "--ignore-eos",
             "What is the capital of France?"}
        );
    }

    [[nodiscard]] fs::path cache() const { return folder_.path() / "cache"; }

    /// The file that the newcomer's copy has in the place of the model's.
    [[nodiscard]] fs::path copied_file() const {
        for (const auto& entry : fs::directory_iterator(cache() / "models" / "from-peers")) {
            return entry.path() / "model.gguf";
        }
        return {};
    }

    TemporaryFolder folder_;
    std::string address_;
    std::unique_ptr<Program> directory_;
    int started_ = 0;
};

/// Bytes of the disk that a file takes, which are fewer than its size where it has holes.
std::uint64_t bytes_on_disk(const fs::path& file) {
    struct stat status {};

    EXPECT_EQ(::stat(file.c_str(), &status), 0) << file;
    constexpr std::uint64_t kStatBlock = 512;
    return static_cast<std::uint64_t>(status.st_blocks) * kStatBlock;
}

TEST_F(ServedByNewcomers, ServesLayersThatItTookFromPeersAndATextGoesOnByIt) {
    const auto first = serve({"--layers", "0-9"});
    const auto second = serve({"--layers", "10-19"});
    const auto third = serve({"--layers", "20-29"});
    for (const auto* const peer : {&first, &second, &third}) {
        ASSERT_TRUE((*peer)->wait_for_text("serves layers", seconds(30))) << (*peer)->err();
    }
    const auto before = ask("40");
    ASSERT_EQ(before->wait(kPatience), 0) << before->err();

    auto taker = newcomer({"--layers", "10-19"});
    ASSERT_TRUE(taker->wait_for_text("serves layers 10 to 19", kPatience)) << taker->err();
    EXPECT_NE(taker->err().find("takes the files"), std::string::npos) << taker->err();
    ASSERT_FALSE(copied_file().empty());
    const std::uint64_t whole = fs::file_size(golden::smollm2_file());
    EXPECT_EQ(fs::file_size(copied_file()), whole);
    EXPECT_LT(bytes_on_disk(copied_file()), whole / 2);

    const auto text = ask("40");
    ASSERT_TRUE(text->wait_for_text("path", kPatience)) << text->err();
    second->signal(SIGKILL);
    EXPECT_EQ(text->wait(kPatience), 0) << text->err();
    EXPECT_EQ(text->out(), before->out());
    const auto after = ask("40");  // nobody else has layers 10 to 19 any more
    EXPECT_EQ(after->wait(kPatience), 0) << after->err();
    EXPECT_EQ(after->out(), before->out());

    // A copy is no whole model for another verb.
    const auto alone = start({"generate", "--model", copied_file().string(), "Hello"});
    EXPECT_NE(alone->wait(kPatience), 0);
    EXPECT_NE(alone->err().find("a part of a model's file"), std::string::npos) << alone->err();

    // The next start has all that it needs, also when no server is there.
    taker->signal(SIGINT);
    EXPECT_EQ(taker->wait(seconds(10)), 130) << taker->err();
    first->signal(SIGKILL);
    third->signal(SIGKILL);
    taker = newcomer({});
    EXPECT_TRUE(taker->wait_for_text("serves layers 10 to 19", kPatience)) << taker->err();
    EXPECT_EQ(taker->err().find("takes the files"), std::string::npos) << taker->err();
}

TEST_F(ServedByNewcomers, SaysInOneLineThatNobodyHasTheModel) {
    const auto taker = newcomer({"--wait", "1s"});
    EXPECT_EQ(taker->wait(seconds(30)), 4) << taker->err();
    EXPECT_NE(taker->err().find("nobody serves smollm2"), std::string::npos) << taker->err();
}

}  // namespace
}  // namespace swarm::test

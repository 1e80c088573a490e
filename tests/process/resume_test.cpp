// SIGKILL of the coordinator at any moment: --resume goes on, and the weights are those of a run
// that was never interrupted.
#include "tests/process/program.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <memory>

namespace swarm::test {
namespace {

using std::chrono::seconds;

/// "... weights sha256 <hash>" of the last line of results.
std::string weights_of(const Program& program) {
    const std::string out = program.out();
    const std::size_t at = out.rfind("sha256 ");
    return at == std::string::npos ? "" : out.substr(at, out.find('\n', at) - at);
}

class ResumeTest : public testing::Test {
 protected:
    [[nodiscard]] std::vector<std::string> train(std::vector<std::string> more) const {
        std::vector<std::string> arguments{
            "train", "--listen", address, "--dir", (folder.path() / "run").string()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }

    std::string single_weights(const std::string& steps) {
        Program single(
            {"train",
             "--single",
             "--model",
             "oracle",
             "--stages",
             "2",
             "--steps",
             steps,
             "--dir",
             (folder.path() / "single").string()},
            folder.path()
        );
        EXPECT_EQ(single.wait(seconds(60)), 0) << single.err();
        return weights_of(single);
    }

    void start_peers(const std::string& service_ms) {
        for (int i = 0; i < 3; ++i) {
            peers.push_back(std::make_unique<Program>(
                std::vector<std::string>{
                    "serve",
                    "--join",
                    address,
                    "--listen",
                    "127.0.0.1:0",
                    "--service-ms",
                    service_ms},
                folder.path()
            ));
        }
    }

    TemporaryFolder folder;
    std::string address = "127.0.0.1:" + std::to_string(free_port());
    std::vector<std::unique_ptr<Program>> peers;
};

const std::vector<std::string> kRun{
    "--model",
    "oracle",
    "--stages",
    "2",
    "--steps",
    "30",
    "--checkpoint-every",
    "4",
    "--min-peers",
    "3"};

TEST_F(ResumeTest, PeersOutliveTheirCoordinator) {
    auto coordinator = std::make_unique<Program>(train(kRun), folder.path());
    start_peers("5");
    for (const char* moment : {"step 3/", "step 11/", "step 20/"}) {
        ASSERT_TRUE(coordinator->wait_for_text(moment, seconds(60))) << coordinator->err();
        coordinator->signal(SIGKILL);
        ASSERT_EQ(coordinator->wait(seconds(10)), 128 + SIGKILL);
        coordinator = std::make_unique<Program>(train({"--resume"}), folder.path());
    }
    ASSERT_EQ(coordinator->wait(seconds(90)), 0) << coordinator->err();
    EXPECT_EQ(weights_of(*coordinator), single_weights("30"));
    for (const auto& peer : peers) {
        EXPECT_EQ(peer->wait(seconds(20)), 0) << peer->err();
    }
}

TEST_F(ResumeTest, NewPeersGoOnFromTheCheckpoint) {
    Program first(train(kRun), folder.path());
    start_peers("5");
    ASSERT_TRUE(first.wait_for_text("wrote", seconds(60))) << first.err();
    first.signal(SIGKILL);
    first.wait(seconds(10));
    peers.clear();
    Program second(train({"--resume"}), folder.path());
    start_peers("5");
    ASSERT_EQ(second.wait(seconds(120)), 0) << second.err();
    EXPECT_EQ(weights_of(second), single_weights("30"));
}

TEST_F(ResumeTest, ASingleRunGoesOnToo) {
    const std::string directory = (folder.path() / "killed").string();
    Program killed(
        {"train",
         "--single",
         "--model",
         "oracle",
         "--stages",
         "2",
         "--steps",
         "3000",
         "--checkpoint-every",
         "100",
         "--dir",
         directory},
        folder.path()
    );
    ASSERT_TRUE(killed.wait_for_text("step 500/", seconds(60))) << killed.err();
    killed.signal(SIGKILL);
    ASSERT_EQ(killed.wait(seconds(10)), 128 + SIGKILL) << "it was too fast";
    Program rest({"train", "--single", "--resume", "--dir", directory}, folder.path());
    ASSERT_EQ(rest.wait(seconds(60)), 0) << rest.err();
    EXPECT_EQ(rest.err().find("step 1/"), std::string::npos) << "it began anew";
    EXPECT_EQ(weights_of(rest), single_weights("3000"));
}

}  // namespace
}  // namespace swarm::test

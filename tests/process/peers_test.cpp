// Peers that meet the unexpected: a second process with their key, a process of another kind, a
// coordinator that is gone.
#include "tests/process/train_bed.hpp"

#include <csignal>
#include <filesystem>

namespace swarm::test {
namespace {

using std::chrono::seconds;

constexpr seconds kSoon(10);
constexpr seconds kPatience(60);

class PeersTest : public TrainBed {
 protected:
    std::unique_ptr<Program> serve(std::vector<std::string> more = {}) {
        more.insert(
            more.begin(),
            {"serve", "--join", address, "--listen", "127.0.0.1:0", "--log-every", "1s"}
        );
        return std::make_unique<Program>(more, folder.path());
    }

    std::unique_ptr<Program> train_oracle(const std::string& steps) {
        return std::make_unique<Program>(
            train({"--model", "oracle", "--stages", "1", "--steps", steps}), folder.path()
        );
    }
};

TEST_F(PeersTest, ASecondProcessWithAKeyThatIsAtWorkIsRefused) {
    const auto coordinator = train_oracle("30");
    const std::string key = (folder.path() / "key.pem").string();
    const std::string copy = (folder.path() / "copy.pem").string();
    const auto first = serve({"--key", key, "--service-ms", "20"});
    ASSERT_TRUE(coordinator->wait_for_text("step 1/", kPatience)) << coordinator->err();
    std::filesystem::copy_file(key, copy);
    const auto second = serve({"--key", copy});
    EXPECT_EQ(second->wait(kSoon), 2);
    EXPECT_NE(second->err().find("another process with this peer's key"), std::string::npos)
        << second->err();
    EXPECT_EQ(coordinator->wait(kPatience), 0) << coordinator->err();
    EXPECT_EQ(coordinator->err().find("restarted"), std::string::npos) << coordinator->err();
    EXPECT_EQ(first->wait(kSoon), 0) << first->err();
}

TEST_F(PeersTest, APeerThatWasKilledIsBackAtOnceWithItsKey) {
    const auto coordinator = train_oracle("20");
    const std::string key = (folder.path() / "key.pem").string();
    auto first = serve({"--key", key, "--service-ms", "20"});
    const auto other = serve({"--service-ms", "20"});
    ASSERT_TRUE(coordinator->wait_for_text("step 2/", kPatience)) << coordinator->err();
    first->signal(SIGKILL);
    EXPECT_EQ(first->wait(kSoon), 128 + SIGKILL);
    first = serve({"--key", key, "--service-ms", "20"});
    EXPECT_EQ(coordinator->wait(kPatience), 0) << coordinator->err();
    EXPECT_EQ(first->wait(kSoon), 0) << first->err();
}

TEST_F(PeersTest, ADirectoryTellsWhoTakesItForACoordinator) {
    const Program hub({"directory", "--listen", address}, folder.path());
    const auto peer = serve();
    EXPECT_EQ(peer->wait(kSoon), 2);
    EXPECT_NE(peer->err().find("is a directory, not the coordinator of a run"), std::string::npos)
        << peer->err();
    Program client({"generate", "--join", address, "Once"}, folder.path());
    EXPECT_EQ(client.wait(kSoon), 2);
    EXPECT_NE(client.err().find("is a directory"), std::string::npos) << client.err();
    Program status({"status", "--join", address}, folder.path());
    EXPECT_EQ(status.wait(kSoon), 2);
    EXPECT_NE(status.err().find("is a directory"), std::string::npos) << status.err();
}

TEST_F(PeersTest, AreListedByTheStatusOfTheRun) {
    const auto coordinator = train_oracle("30");
    const auto peer = serve({"--service-ms", "20"});
    ASSERT_TRUE(coordinator->wait_for_text("step 1/", kPatience)) << coordinator->err();
    Program status({"status", "--join", address}, folder.path());
    EXPECT_EQ(status.wait(kSoon), 0) << status.err();
    EXPECT_NE(status.out().find("/30  loss "), std::string::npos) << status.out();
    EXPECT_NE(status.out().find("  member  "), std::string::npos) << status.out();
    const std::string json = (folder.path() / "status.json").string();
    Program watch({"status", "--join", address, "--watch", "--json", json}, folder.path());
    EXPECT_EQ(coordinator->wait(kPatience), 0) << coordinator->err();
    EXPECT_EQ(watch.wait(kSoon), 0) << watch.err();
    EXPECT_NE(watch.err().find("the run is finished"), std::string::npos) << watch.err();
    EXPECT_NE(read_text(json).find("\"step\":30,\"steps\":30"), std::string::npos);
}

TEST_F(PeersTest, SayThatTheCoordinatorIsGoneAndThenLeaveAtOnce) {
    const auto coordinator = train_oracle("100000");
    const auto peer = serve({"--service-ms", "20"});
    ASSERT_TRUE(coordinator->wait_for_text("step 2/", kPatience)) << coordinator->err();
    EXPECT_TRUE(peer->wait_for_text("microbatches, 100 % of the stage's", kPatience))
        << peer->err();
    coordinator->signal(SIGKILL);
    EXPECT_TRUE(peer->wait_for_text("the coordinator is gone; keeps its work and waits", kSoon))
        << peer->err();
    peer->signal(SIGINT);
    EXPECT_EQ(peer->wait(seconds(5)), 130) << peer->err();
}

}  // namespace
}  // namespace swarm::test

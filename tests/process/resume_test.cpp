// The coordinator is killed at any moment: --resume goes on, and the weights are those of a run
// that was never interrupted.
#include "tests/process/train_bed.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <memory>

namespace swarm::test {
namespace {

using std::chrono::seconds;

using ResumeTest = TrainBed;

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

/// Returns the arguments of a run in one process that takes a while.
std::vector<std::string> single_in(const std::string& folder, std::vector<std::string> more) {
    more.insert(
        more.begin(),
        {"train",
         "--single",
         "--model",
         "oracle",
         "--stages",
         "2",
         "--steps",
         "3000",
         "--log-every",
         "0s",
         "--dir",
         folder}
    );
    return more;
}

TEST_F(ResumeTest, PeersOutliveTheirCoordinator) {
    auto coordinator = std::make_unique<Program>(train(kRun), folder.path());
    start_peers(3, "5");
    for (const char* moment : {"step 3/", "step 11/", "step 20/"}) {
        ASSERT_TRUE(coordinator->wait_for_text(moment, seconds(60))) << coordinator->err();
        coordinator->signal(SIGKILL);
        ASSERT_EQ(coordinator->wait(seconds(10)), 128 + SIGKILL);
        coordinator = std::make_unique<Program>(train({"--resume"}), folder.path());
    }
    ASSERT_EQ(coordinator->wait(seconds(90)), 0) << coordinator->err();
    EXPECT_EQ(weights_of(*coordinator), single_weights("2", "30"));
    for (const auto& peer : peers) {
        EXPECT_EQ(peer->wait(seconds(20)), 0) << peer->err();
    }
}

TEST_F(ResumeTest, NewPeersGoOnFromTheCheckpoint) {
    Program first(train(kRun), folder.path());
    start_peers(3, "5");
    ASSERT_TRUE(first.wait_for_text("wrote", seconds(60))) << first.err();
    first.signal(SIGKILL);
    first.wait(seconds(10));
    peers.clear();
    Program second(train({"--resume"}), folder.path());
    start_peers(3, "5");
    ASSERT_EQ(second.wait(seconds(120)), 0) << second.err();
    EXPECT_EQ(weights_of(second), single_weights("2", "30"));
}

TEST_F(ResumeTest, ALostStageGoesOnFromTheNewestCheckpointWithNewPeers) {
    std::vector<std::string> run = kRun;
    run.insert(run.end(), {"--stage-lost-after", "5s"});
    Program coordinator(train(run), folder.path());
    start_peers(3, "5");
    ASSERT_TRUE(coordinator.wait_for_text("step 10/", seconds(60))) << coordinator.err();
    for (const auto& peer : peers) {
        peer->signal(SIGKILL);
    }
    peers.clear();
    ASSERT_TRUE(coordinator.wait_for_text("get the newest checkpoint", seconds(30)))
        << coordinator.err();
    start_peers(3, "5");
    ASSERT_EQ(coordinator.wait(seconds(120)), 0) << coordinator.err();
    EXPECT_NE(coordinator.err().find("going back to the checkpoint of step 8"), std::string::npos)
        << coordinator.err();
    EXPECT_EQ(weights_of(coordinator), single_weights("2", "30"));
}

TEST_F(ResumeTest, ALostStageWithoutACheckpointEndsTheRun) {
    Program coordinator(
        train({"--model", "oracle", "--stages", "1", "--steps", "3000", "--stage-lost-after", "5s"}
        ),
        folder.path()
    );
    start_peers(1, "5");
    ASSERT_TRUE(coordinator.wait_for_text("step 2/", seconds(60))) << coordinator.err();
    peers.front()->signal(SIGKILL);
    EXPECT_EQ(coordinator.wait(seconds(30)), 1);
    EXPECT_NE(coordinator.err().find("there is no checkpoint to go on from"), std::string::npos)
        << coordinator.err();
}

TEST_F(ResumeTest, ARunThatIsPastItsNewLastStepEndsWithOneCheckpoint) {
    auto coordinator = std::make_unique<Program>(train(kRun), folder.path());
    start_peers(3, "5");
    ASSERT_TRUE(coordinator->wait_for_text("step 6/", seconds(60))) << coordinator->err();
    coordinator->signal(SIGKILL);
    ASSERT_EQ(coordinator->wait(seconds(10)), 128 + SIGKILL);
    Program shorter(train({"--resume", "--steps", "3"}), folder.path());
    ASSERT_EQ(shorter.wait(seconds(60)), 0) << shorter.err();
    const std::string log = shorter.err();
    EXPECT_NE(log.find("wrote"), std::string::npos) << log;
    EXPECT_EQ(log.find("wrote"), log.rfind("wrote")) << log;
    for (const auto& peer : peers) {
        EXPECT_EQ(peer->wait(seconds(20)), 0) << peer->err();
    }
}

TEST_F(ResumeTest, ARefusedProcessLeavesALiveRunAsItIs) {
    Program coordinator(train(kRun), folder.path());
    ASSERT_TRUE(coordinator.wait_for_text("waiting for 3 peers", seconds(60))) << coordinator.err();
    const std::string before = read_text(directory / "run.toml");
    for (const char* mode : {"--hold", "--single"}) {
        Program second(train({"--resume", "--steps", "5", mode}), folder.path());
        EXPECT_EQ(second.wait(seconds(60)), 1) << second.err();
        EXPECT_NE(second.err().find("in use by another process"), std::string::npos)
            << second.err();
        EXPECT_EQ(read_text(directory / "run.toml"), before) << mode;
    }
}

TEST_F(ResumeTest, AfterCtrlCTheCoordinatorSaysFromWhereTheRunGoesOn) {
    Program coordinator(train(kRun), folder.path());
    start_peers(3, "5");
    ASSERT_TRUE(coordinator.wait_for_text("step 6/", seconds(60))) << coordinator.err();
    coordinator.signal(SIGINT);
    EXPECT_EQ(coordinator.wait(seconds(20)), 130) << coordinator.err();
    EXPECT_NE(coordinator.err().find("else from the checkpoint of step 4"), std::string::npos)
        << coordinator.err();
}

// `timeout -s INT` sends two signals within microseconds.
TEST_F(ResumeTest, ASignalThatComesTwiceIsOneCtrlC) {
    const std::string json = (folder.path() / "report.json").string();
    Program coordinator(
        train({"--model", "oracle", "--steps", "3000", "--json", json}), folder.path()
    );
    ASSERT_TRUE(coordinator.wait_for_text("waiting for ", seconds(60))) << coordinator.err();
    coordinator.signal(SIGINT);
    coordinator.signal(SIGINT);
    EXPECT_EQ(coordinator.wait(seconds(20)), 130) << coordinator.err();
    EXPECT_FALSE(read_text(json).empty()) << "it did not end in order";

    Program single(single_in((folder.path() / "stopped").string(), {}), folder.path());
    ASSERT_TRUE(single.wait_for_text("step 100/", seconds(60))) << single.err();
    single.signal(SIGINT);
    single.signal(SIGINT);
    EXPECT_EQ(single.wait(seconds(20)), 130) << "it was too fast";
    EXPECT_NE(single.err().find("--resume goes on from the checkpoint of step"), std::string::npos)
        << single.err();
}

TEST_F(ResumeTest, ALongRunDoesNotFloodAFileWithLines) {
    Program single(
        {"train", "--single", "--model", "oracle", "--steps", "3000", "--dir", directory.string()},
        folder.path()
    );
    ASSERT_EQ(single.wait(seconds(60)), 0) << single.err();
    const std::string log = single.err();
    EXPECT_NE(log.find("step 60/3000"), std::string::npos) << log;
    EXPECT_NE(log.find("step 3000/3000"), std::string::npos) << log;
    EXPECT_LT(count_lines(log), 75U) << log;
}

TEST_F(ResumeTest, ASingleRunKeepsItsStepsAfterCtrlC) {
    const std::string stopped_in = (folder.path() / "stopped").string();
    Program stopped(single_in(stopped_in, {}), folder.path());
    ASSERT_TRUE(stopped.wait_for_text("step 500/", seconds(60))) << stopped.err();
    stopped.signal(SIGINT);
    ASSERT_EQ(stopped.wait(seconds(20)), 130) << "it was too fast";
    EXPECT_NE(stopped.err().find("--resume goes on from the checkpoint of step"), std::string::npos)
        << stopped.err();
    Program rest({"train", "--single", "--resume", "--dir", stopped_in}, folder.path());
    ASSERT_EQ(rest.wait(seconds(60)), 0) << rest.err();
    EXPECT_EQ(rest.err().find("step 500/"), std::string::npos) << "it trained steps again";
    EXPECT_EQ(weights_of(rest), single_weights("2", "3000"));
}

TEST_F(ResumeTest, ASingleRunGoesOnToo) {
    const std::string killed_in = (folder.path() / "killed").string();
    Program killed(single_in(killed_in, {"--checkpoint-every", "100"}), folder.path());
    ASSERT_TRUE(killed.wait_for_text("step 500/", seconds(60))) << killed.err();
    killed.signal(SIGKILL);
    ASSERT_EQ(killed.wait(seconds(10)), 128 + SIGKILL) << "it was too fast";
    Program rest({"train", "--single", "--resume", "--dir", killed_in}, folder.path());
    ASSERT_EQ(rest.wait(seconds(60)), 0) << rest.err();
    EXPECT_EQ(rest.err().find("step 1/"), std::string::npos) << "it began anew";
    EXPECT_EQ(weights_of(rest), single_weights("2", "3000"));
}

}  // namespace
}  // namespace swarm::test

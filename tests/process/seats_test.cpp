// `swarm serve --host`: one process serves several stages.
#include "tests/process/train_bed.hpp"

#include <csignal>
#include <memory>

namespace swarm::test {
namespace {

using std::chrono::seconds;

class SeatsTest : public TrainBed {
 protected:
    std::unique_ptr<Program> serve(const std::string& listen, std::vector<std::string> more = {}) {
        more.insert(
            more.begin(),
            {"serve", "--join", address, "--listen", listen, "--service-ms", "10", "--host", "2"}
        );
        return std::make_unique<Program>(std::move(more), folder.path());
    }
};

TEST_F(SeatsTest, OneProcessHoldsAllStagesOfARun) {
    Program coordinator(
        train({"--model", "oracle", "--stages", "2", "--steps", "12"}), folder.path()
    );
    const auto volunteer =
        serve("127.0.0.1:0", {"--key", (folder.path() / "volunteer.pem").string()});
    EXPECT_EQ(coordinator.wait(seconds(60)), 0) << coordinator.err();
    EXPECT_EQ(volunteer->wait(seconds(30)), 0) << volunteer->err();
    for (const char* stage : {"serving stage 0", "serving stage 1"}) {
        EXPECT_NE(volunteer->err().find(stage), std::string::npos) << volunteer->err();
    }
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "volunteer.pem.2"));
    EXPECT_EQ(weights_of(coordinator), single_weights("2", "12"));
}

TEST_F(SeatsTest, CtrlCLeavesWithAllSeats) {
    Program coordinator(
        train({"--model", "oracle", "--stages", "2", "--steps", "40", "--min-peers", "4"}),
        folder.path()
    );
    start_peers(2, "10");
    for (const auto& peer : peers) {
        ASSERT_TRUE(peer->wait_for_text("serving stage ", seconds(30))) << peer->err();
    }
    const auto volunteer = serve("127.0.0.1:0");
    ASSERT_TRUE(coordinator.wait_for_text("step 3/", seconds(60))) << coordinator.err();
    volunteer->signal(SIGINT);
    EXPECT_EQ(volunteer->wait(seconds(60)), 130) << volunteer->err();
    EXPECT_EQ(coordinator.wait(seconds(60)), 0) << coordinator.err();
    EXPECT_EQ(weights_of(coordinator), single_weights("2", "40"));
}

TEST_F(SeatsTest, EachSeatNeedsAPort) {
    const auto volunteer = serve("127.0.0.1:65535");
    EXPECT_EQ(volunteer->wait(seconds(20)), 3) << volunteer->err();
    const std::string err = volunteer->err();
    EXPECT_NE(err.find("--host 2 needs 2 ports"), std::string::npos) << err;
}

}  // namespace
}  // namespace swarm::test

// `swarm serve --hours`: a peer leaves at the end of its hours and comes back at their begin. The
// time zone of the peers is such that it is 06:59:57 for them when a test begins.
#include "tests/process/train_bed.hpp"

#include <csignal>
#include <cstdlib>
#include <ctime>

namespace swarm::test {
namespace {

using std::chrono::seconds;

constexpr std::time_t kDay = 24 * 60 * 60;
constexpr std::time_t kBegin = 7 * 60 * 60 - 3;

class HoursTest : public TrainBed {
 protected:
    void SetUp() override {
        const std::time_t west = ((std::time(nullptr) - kBegin) % kDay + kDay) % kDay;
        char zone[32];
        std::snprintf(
            zone, sizeof zone, "SWM%02ld:%02ld:%02ld", west / 3600, west / 60 % 60, west % 60
        );
        ::setenv("TZ", zone, 1);
    }

    void TearDown() override { ::unsetenv("TZ"); }

    std::unique_ptr<Program> serve(const char* hours) {
        return std::make_unique<Program>(
            std::vector<std::string>{
                "serve",
                "--join",
                address,
                "--listen",
                "127.0.0.1:0",
                "--key",
                (folder.path() / "volunteer.pem").string(),
                "--service-ms",
                "100",
                "--hours",
                hours},
            folder.path()
        );
    }
};

TEST_F(HoursTest, APeerLeavesAtTheirEndAndComesBack) {
    Program coordinator(
        train({"--model", "oracle", "--stages", "1", "--steps", "30"}), folder.path()
    );
    start_peers(1, "100");
    const auto volunteer = serve("07:00:04-07:00");
    ASSERT_TRUE(volunteer->wait_for_text("the hours end at 07:00", seconds(30)))
        << volunteer->err();
    ASSERT_TRUE(volunteer->wait_for_text("lends this machine again at 07:00:04", seconds(60)))
        << volunteer->err();
    EXPECT_EQ(coordinator.wait(seconds(120)), 0) << coordinator.err();
    EXPECT_EQ(volunteer->wait(seconds(30)), 0) << volunteer->err();
    const std::string err = volunteer->err();
    const std::size_t away = err.find("lends this machine again");
    EXPECT_NE(err.find("serving stage 0", away), std::string::npos) << err;
    EXPECT_EQ(weights_of(coordinator), single_weights("1", "30"));
}

TEST_F(HoursTest, OutsideTheHoursNobodyIsJoinedAndCtrlCEndsIt) {
    const auto volunteer = serve("22:00-06:00");
    ASSERT_TRUE(volunteer->wait_for_text("lends this machine again at 22:00", seconds(30)))
        << volunteer->err();
    volunteer->signal(SIGINT);
    EXPECT_EQ(volunteer->wait(seconds(10)), 130) << volunteer->err();
    EXPECT_EQ(volunteer->err().find("joins"), std::string::npos) << volunteer->err();
}

}  // namespace
}  // namespace swarm::test

// `swarm serve --cache`: a volunteer that is killed and started again downloads nothing while the
// run waits at its version; a damaged cache costs a download, never the run.
// A stage of two peers with min_holders = 2 makes the run wait whenever one peer is gone.
#include "tests/process/train_bed.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <memory>

namespace swarm::test {
namespace {

using std::chrono::seconds;

class CacheTest : public TrainBed {
 protected:
    std::unique_ptr<Program> serve(std::vector<std::string> more) {
        more.insert(
            more.begin(),
            {"serve", "--join", address, "--listen", "127.0.0.1:0", "--service-ms", "10"}
        );
        return std::make_unique<Program>(std::move(more), folder.path());
    }

    std::unique_ptr<Program> serve_with_cache() { return serve({"--cache", cache.string()}); }

    std::filesystem::path cache = folder.path() / "cache";
};

TEST_F(CacheTest, AVolunteerThatRestartsAtTheCurrentVersionDownloadsNothing) {
    const std::filesystem::path run_file = folder.path() / "run.toml";
    std::ofstream(run_file) << "model = \"oracle\"\n[run]\nstages = 1\nsteps = 20\n"
                               "min_peers = 2\nmin_holders = 2\n";
    Program coordinator(train({run_file.string()}), folder.path());
    auto other = serve({});
    auto volunteer = serve_with_cache();
    ASSERT_TRUE(coordinator.wait_for_text("step 4/", seconds(60))) << coordinator.err();
    other->signal(SIGKILL);
    ASSERT_TRUE(coordinator.wait_for_text("(min_holders)", seconds(30))) << coordinator.err();
    volunteer->signal(SIGKILL);
    ASSERT_EQ(volunteer->wait(seconds(10)), 128 + SIGKILL);
    ASSERT_TRUE(coordinator.wait_for_text("the last of its stage", seconds(30)))
        << coordinator.err();
    volunteer = serve_with_cache();
    ASSERT_TRUE(volunteer->wait_for_text("bytes of state downloaded", seconds(30)))
        << volunteer->err();
    EXPECT_NE(volunteer->err().find("; 0 bytes of state downloaded"), std::string::npos)
        << volunteer->err();
    EXPECT_EQ(volunteer->err().find("downloading"), std::string::npos) << volunteer->err();

    other = serve({});  // it gets its state from the volunteer
    ASSERT_TRUE(coordinator.wait_for_text("step 9/", seconds(60))) << coordinator.err();
    volunteer->signal(SIGKILL);
    ASSERT_EQ(volunteer->wait(seconds(10)), 128 + SIGKILL);
    {
        std::fstream file(cache / "stage.state", std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(-1, std::ios::end);
        file.put('\x55');
        ASSERT_TRUE(file);
    }
    volunteer = serve_with_cache();
    EXPECT_EQ(coordinator.wait(seconds(90)), 0) << coordinator.err();
    EXPECT_NE(volunteer->err().find("the cached state is damaged"), std::string::npos)
        << volunteer->err();
    EXPECT_NE(volunteer->err().find("bytes of state downloaded"), std::string::npos);
    EXPECT_EQ(volunteer->err().find("; 0 bytes of state downloaded"), std::string::npos)
        << volunteer->err();
    EXPECT_EQ(weights_of(coordinator), single_weights("1", "20"));
}

TEST_F(CacheTest, TwoVolunteersDoNotShareACache) {
    const auto first = serve_with_cache();
    ASSERT_TRUE(first->wait_for_text("joins", seconds(20))) << first->err();
    const auto second = serve_with_cache();
    EXPECT_NE(second->wait(seconds(20)), 0);
    EXPECT_NE(second->err().find("in use by another process"), std::string::npos) << second->err();
}

}  // namespace
}  // namespace swarm::test
